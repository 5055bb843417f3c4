import { Type } from 'typebox';
import * as Shape from './shapes.ts';

export const CreateIndexBody = Shape.requestBody({
  column: Type.String({ minLength: 1, description: 'Path of the field to index.' }),
  index_type: Type.Optional(
    Type.String({
      minLength: 1,
      description:
        '`IVF_FLAT`, `IVF_PQ`, `IVF_RQ`, `IVF_HNSW_SQ`, `IVF_HNSW_PQ`, `BTREE`, `BITMAP`, `LABEL_LIST`, `FM` or `FTS`; when absent, the server chooses.',
    }),
  ),
  name: Shape.optionalText('Name of the index; without one, the column followed by `_idx`.'),
  replace: Shape.optionalFlag('Replace an index of the same name on the same column (default), or refuse.'),
  branch: Type.Optional(Shape.Branch),
  distance_type: Shape.optionalText('Of vector indexes: `l2`, `cosine`, `dot` or `hamming`.'),
  metric_type: Shape.optionalText('The same, under the name that the LanceDB client uses.'),
  num_partitions: Shape.optionalInteger('Of vector indexes: number of partitions.'),
  target_partition_size: Shape.optionalInteger('Of vector indexes: rows in a partition, in place of `num_partitions`.'),
  sample_rate: Shape.optionalInteger('Of vector indexes: rows per partition that train it.'),
  max_iterations: Shape.optionalInteger('Of vector indexes: rounds of training.'),
  num_sub_vectors: Shape.optionalInteger('Of IVF_PQ and IVF_HNSW_PQ: number of sub-vectors; divides the dimension.'),
  num_bits: Shape.optionalInteger('Of IVF_PQ: 4 or 8. Of IVF_RQ: 1 to 9.'),
  m: Shape.optionalInteger('Of HNSW indexes: neighbours of a vector in the graph.'),
  ef_construction: Shape.optionalInteger('Of HNSW indexes: candidates looked at while the graph is built.'),
  recall_target: Type.Optional(
    Type.Number({
      exclusiveMinimum: 0,
      maximum: 1,
      description: 'Of vector indexes: share of the exact neighbours that searches without parameters shall find.',
    }),
  ),
  with_position: Shape.optionalFlag('Of full-text indexes: keep positions, which phrase queries need.'),
  base_tokenizer: Shape.optionalText('Of full-text indexes: `simple`, `whitespace`, `raw`, `ngram` or `icu`.'),
  language: Shape.optionalText('Of full-text indexes: language of stemming and of stop words.'),
  max_token_length: Shape.optionalInteger('Of full-text indexes: longest word that is kept.'),
  lower_case: Shape.optionalFlag('Of full-text indexes: fold to lower case.'),
  stem: Shape.optionalFlag('Of full-text indexes: reduce words to their stems.'),
  remove_stop_words: Shape.optionalFlag('Of full-text indexes: leave out stop words.'),
  ascii_folding: Shape.optionalFlag('Of full-text indexes: fold accented letters.'),
  min_ngram_length: Shape.optionalInteger('Of full-text indexes with the tokenizer `ngram`: shortest n-gram.'),
  max_ngram_length: Shape.optionalInteger('Of full-text indexes with the tokenizer `ngram`: longest n-gram.'),
  prefix_only: Shape.optionalFlag(
    'Of full-text indexes with the tokenizer `ngram`: n-grams at the start of words only.',
  ),
  custom_stop_words: Type.Optional(
    Type.Array(Type.String({ minLength: 1 }), {
      description: 'Of full-text indexes: words to leave out, in place of those of the language.',
    }),
  ),
  block_size: Shape.optionalInteger('Of full-text indexes: documents in a block of a posting list, 128 or 256.'),
  lance_tokenizer: Shape.optionalText('Not offered.'),
});
export type CreateIndexBody = Type.Static<typeof CreateIndexBody>;

const measuredFields = {
  share: Type.Number({ description: 'Share of the rows that pass the filter; 1 without a filter.' }),
  recall: Type.Number({ description: 'Share of the exact neighbours that were found, from 0 to 1.' }),
  latency_ms: Type.Number({ description: 'Time of one search when it was measured.' }),
  nprobes: Shape.optionalCount('Partitions that are searched; with a filter, at least.'),
  all_partitions: Shape.optionalFlag('Every partition is searched.'),
  exact: Shape.optionalFlag('Every row is compared, because the index cannot reach the target.'),
  refine_factor: Shape.optionalCount(),
  ef: Shape.optionalCount(),
};
const MeasuredSearchContent = Type.Object(measuredFields);
export type MeasuredSearchContent = Type.Static<typeof MeasuredSearchContent>;

export const IndexSearch = Type.Object(
  {
    recall_target: Type.Number(),
    ...measuredFields,
    filtered: Type.Array(MeasuredSearchContent, {
      description: 'The same for searches with a filter, the widest first.',
    }),
    tuned_at: Type.String({ description: 'Time of the measurement, RFC 3339.' }),
    tuning_ms: Shape.count('What the measurement took.'),
    advice: Shape.optionalText('What to do when the target was not reached.'),
  },
  { description: 'Of vector indexes: what searches without parameters use, for 10 results, and the measured recall.' },
);
export type IndexSearch = Type.Static<typeof IndexSearch>;

export const CreateIndexReply = Shape.replyBody({
  index_name: Type.String(),
  index_type: Shape.optionalText(),
  index_type_reason: Shape.optionalText('Why the server chose this type, where none was named.'),
  job_id: Type.String({ description: 'The job that built the index, or still builds it (status 202).' }),
  job_state: Type.String({ description: '`DONE` or `IN_PROGRESS`.' }),
  version: Type.Optional(Shape.Version),
  transaction_id: Shape.optionalText(),
  search: Type.Optional(IndexSearch),
});
export type CreateIndexReply = Type.Static<typeof CreateIndexReply>;

export const StateQuery = Type.Object({
  ...Shape.BranchQuery.properties,
  version: Shape.optionalText('Version of the table, as a whole number.'),
});

export const ListIndicesBody = Shape.requestBody({
  ...Shape.stateFields,
  page_token: Shape.optionalText('The token of the page before.'),
  limit: Type.Optional(Type.Integer({ minimum: 1, description: 'Most indexes on the page.' })),
});

export const IndexContent = Type.Object({
  index_name: Type.String(),
  index_uuid: Type.String(),
  columns: Type.Array(Type.String(), { description: 'Canonical field paths.' }),
  status: Type.String({ description: '`DONE`: an index is listed once it is built.' }),
  index_type: Type.String(),
  type_url: Shape.optionalText('Precise type of the index.'),
  created_at: Shape.optionalText('Time of the build, RFC 3339.'),
  num_indexed_rows: Shape.optionalCount('Rows that the index covers.'),
  num_unindexed_rows: Shape.optionalCount('Rows that came after the build.'),
  size_bytes: Shape.optionalCount('Size of the files of the index.'),
  num_segments: Shape.optionalCount('Parts of the index.'),
  index_version: Shape.optionalCount('Version of the format of the index.'),
  index_details: Shape.optionalText('JSON text with what the index was built with.'),
  search: Type.Optional(IndexSearch),
});
export type IndexContent = Type.Static<typeof IndexContent>;

export const ListIndicesReply = Shape.replyBody({
  indexes: Type.Array(IndexContent),
  page_token: Shape.optionalText(),
});
export type ListIndicesReply = Type.Static<typeof ListIndicesReply>;

const indexName = { index_name: Shape.optionalText('Name of the index. Must agree with the address.') };

export const IndexStatsBody = Shape.requestBody({ ...Shape.stateFields, ...indexName });

export const IndexStatsReply = Shape.replyBody({
  index_type: Type.String(),
  num_indexed_rows: Shape.count(),
  num_unindexed_rows: Shape.count(),
  distance_type: Shape.optionalText('Of vector indexes.'),
  num_indices: Shape.optionalCount('Parts of the index.'),
  search: Type.Optional(IndexSearch),
});
export type IndexStatsReply = Type.Static<typeof IndexStatsReply>;

export const DropIndexBody = Shape.requestBody({ ...indexName, branch: Type.Optional(Shape.Branch) });

export const DropIndexReply = Shape.writeReply({});
export type DropIndexReply = Type.Static<typeof DropIndexReply>;

export const PrewarmPageCacheBody = Shape.requestBody({
  ...Shape.stateFields,
  columns: Type.Optional(Type.Array(Type.String({ minLength: 1 }), { description: 'Field paths; none means all.' })),
});

export const PrewarmReply = Shape.replyBody({});
