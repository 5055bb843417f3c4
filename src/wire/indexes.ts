import { Type } from 'typebox';
import {
  Branch,
  BranchQuery,
  Version,
  optionalCount,
  optionalFlag,
  optionalInteger,
  optionalText,
  replyBody,
  requestBody,
} from './shapes.ts';

export const CreateIndexBody = requestBody({
  column: Type.String({ minLength: 1, description: 'Path of the field to index.' }),
  index_type: Type.String({
    minLength: 1,
    description:
      '`IVF_FLAT`, `IVF_PQ`, `IVF_RQ`, `IVF_HNSW_SQ`, `IVF_HNSW_PQ`, `BTREE`, `BITMAP`, `LABEL_LIST`, `FM` or `FTS`.',
  }),
  name: optionalText('Name of the index; without one, the column followed by `_idx`.'),
  replace: optionalFlag('Replace an index of the same name on the same column (default), or refuse.'),
  branch: Type.Optional(Branch),
  distance_type: optionalText('Of vector indexes: `l2`, `cosine`, `dot` or `hamming`.'),
  metric_type: optionalText('The same, under the name that the LanceDB client uses.'),
  num_partitions: optionalInteger('Of vector indexes: number of partitions.'),
  target_partition_size: optionalInteger('Of vector indexes: rows in a partition, in place of `num_partitions`.'),
  sample_rate: optionalInteger('Of vector indexes: rows per partition that train it.'),
  max_iterations: optionalInteger('Of vector indexes: rounds of training.'),
  num_sub_vectors: optionalInteger('Of IVF_PQ and IVF_HNSW_PQ: number of sub-vectors; divides the dimension.'),
  num_bits: optionalInteger('Of IVF_PQ: 4 or 8. Of IVF_RQ: 1 to 9.'),
  m: optionalInteger('Of HNSW indexes: neighbours of a vector in the graph.'),
  ef_construction: optionalInteger('Of HNSW indexes: candidates looked at while the graph is built.'),
  with_position: optionalFlag('Of full-text indexes: keep positions, which phrase queries need.'),
  base_tokenizer: optionalText('Of full-text indexes: `simple`, `whitespace`, `raw`, `ngram` or `icu`.'),
  language: optionalText('Of full-text indexes: language of stemming and of stop words.'),
  max_token_length: optionalInteger('Of full-text indexes: longest word that is kept.'),
  lower_case: optionalFlag('Of full-text indexes: fold to lower case.'),
  stem: optionalFlag('Of full-text indexes: reduce words to their stems.'),
  remove_stop_words: optionalFlag('Of full-text indexes: leave out stop words.'),
  ascii_folding: optionalFlag('Of full-text indexes: fold accented letters.'),
  min_ngram_length: optionalInteger('Of full-text indexes with the tokenizer `ngram`: shortest n-gram.'),
  max_ngram_length: optionalInteger('Of full-text indexes with the tokenizer `ngram`: longest n-gram.'),
  prefix_only: optionalFlag('Of full-text indexes with the tokenizer `ngram`: n-grams at the start of words only.'),
  custom_stop_words: Type.Optional(Type.Array(Type.String(), { description: 'Not offered.' })),
  lance_tokenizer: optionalText('Not offered.'),
});
export type CreateIndexBody = Type.Static<typeof CreateIndexBody>;

export const CreateIndexReply = replyBody({
  index_name: Type.String(),
  job_id: Type.String({ description: 'The job that built the index, or still builds it (status 202).' }),
  job_state: Type.String({ description: '`DONE` or `IN_PROGRESS`.' }),
  version: Type.Optional(Version),
  transaction_id: optionalText(),
});
export type CreateIndexReply = Type.Static<typeof CreateIndexReply>;

export const StateQuery = Type.Object({
  ...BranchQuery.properties,
  version: optionalText('Version of the table, as a whole number.'),
});

const stateFields = { version: Type.Optional(Version), branch: Type.Optional(Branch) };

export const ListIndicesBody = requestBody({
  ...stateFields,
  page_token: optionalText('The token of the page before.'),
  limit: Type.Optional(Type.Integer({ minimum: 1, description: 'Most indexes on the page.' })),
});

export const IndexContent = Type.Object({
  index_name: Type.String(),
  index_uuid: Type.String(),
  columns: Type.Array(Type.String(), { description: 'Canonical field paths.' }),
  status: Type.String({ description: '`DONE`: an index is listed once it is built.' }),
  index_type: Type.String(),
  type_url: optionalText('Precise type of the index.'),
  created_at: optionalText('Time of the build, RFC 3339.'),
  num_indexed_rows: optionalCount('Rows that the index covers.'),
  num_unindexed_rows: optionalCount('Rows that came after the build.'),
  size_bytes: optionalCount('Size of the files of the index.'),
  num_segments: optionalCount('Parts of the index.'),
  index_version: optionalCount('Version of the format of the index.'),
  index_details: optionalText('JSON text with what the index was built with.'),
});
export type IndexContent = Type.Static<typeof IndexContent>;

export const ListIndicesReply = replyBody({ indexes: Type.Array(IndexContent), page_token: optionalText() });
export type ListIndicesReply = Type.Static<typeof ListIndicesReply>;

const indexName = { index_name: optionalText('Name of the index. Must agree with the address.') };

export const IndexStatsBody = requestBody({ ...stateFields, ...indexName });

export const IndexStatsReply = replyBody({
  index_type: Type.String(),
  num_indexed_rows: Type.Integer({ minimum: 0 }),
  num_unindexed_rows: Type.Integer({ minimum: 0 }),
  distance_type: optionalText('Of vector indexes.'),
  num_indices: optionalCount('Parts of the index.'),
});
export type IndexStatsReply = Type.Static<typeof IndexStatsReply>;

export const DropIndexBody = requestBody({ ...indexName, branch: Type.Optional(Branch) });

export const DropIndexReply = replyBody({ version: Version, transaction_id: optionalText() });
export type DropIndexReply = Type.Static<typeof DropIndexReply>;

export const PrewarmPageCacheBody = requestBody({
  ...stateFields,
  columns: Type.Optional(Type.Array(Type.String({ minLength: 1 }), { description: 'Field paths; none means all.' })),
});

export const PrewarmReply = replyBody({});
