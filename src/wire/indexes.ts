import { Type } from 'typebox';
import { Branch, Context, Version, requestFields } from './shapes.ts';
import { DelimiterQuery } from './tables.ts';

const text = (description: string) => Type.Optional(Type.String({ description }));
const flag = (description: string) => Type.Optional(Type.Boolean({ description }));
const number = (description: string) => Type.Optional(Type.Integer({ description }));

export const CreateIndexBody = Type.Object(
  {
    ...requestFields,
    column: Type.String({ minLength: 1, description: 'Path of the field to index.' }),
    index_type: Type.String({
      minLength: 1,
      description:
        '`IVF_FLAT`, `IVF_PQ`, `IVF_RQ`, `IVF_HNSW_SQ`, `IVF_HNSW_PQ`, `BTREE`, `BITMAP`, `LABEL_LIST`, `FM` or `FTS`.',
    }),
    name: text('Name of the index; without one, the column followed by `_idx`.'),
    replace: flag('Replace an index of the same name on the same column (default), or refuse.'),
    branch: Type.Optional(Branch),
    distance_type: text('Of vector indexes: `l2`, `cosine`, `dot` or `hamming`.'),
    metric_type: text('The same, under the name that the LanceDB client uses.'),
    num_partitions: number('Of vector indexes: number of partitions.'),
    target_partition_size: number('Of vector indexes: rows in a partition, in place of `num_partitions`.'),
    sample_rate: number('Of vector indexes: rows per partition that train it.'),
    max_iterations: number('Of vector indexes: rounds of training.'),
    num_sub_vectors: number('Of IVF_PQ and IVF_HNSW_PQ: number of sub-vectors; divides the dimension.'),
    num_bits: number('Of IVF_PQ: 4 or 8. Of IVF_RQ: 1 to 9.'),
    m: number('Of HNSW indexes: neighbours of a vector in the graph.'),
    ef_construction: number('Of HNSW indexes: candidates looked at while the graph is built.'),
    with_position: flag('Of full-text indexes: keep positions, which phrase queries need.'),
    base_tokenizer: text('Of full-text indexes: `simple`, `whitespace`, `raw`, `ngram` or `icu`.'),
    language: text('Of full-text indexes: language of stemming and of stop words.'),
    max_token_length: number('Of full-text indexes: longest word that is kept.'),
    lower_case: flag('Of full-text indexes: fold to lower case.'),
    stem: flag('Of full-text indexes: reduce words to their stems.'),
    remove_stop_words: flag('Of full-text indexes: leave out stop words.'),
    ascii_folding: flag('Of full-text indexes: fold accented letters.'),
    min_ngram_length: number('Of full-text indexes with the tokenizer `ngram`: shortest n-gram.'),
    max_ngram_length: number('Of full-text indexes with the tokenizer `ngram`: longest n-gram.'),
    prefix_only: flag('Of full-text indexes with the tokenizer `ngram`: n-grams at the start of words only.'),
    custom_stop_words: Type.Optional(Type.Array(Type.String(), { description: 'Not offered.' })),
    lance_tokenizer: text('Not offered.'),
  },
  { additionalProperties: false },
);
export type CreateIndexBody = Type.Static<typeof CreateIndexBody>;

export const CreateIndexReply = Type.Object({
  index_name: Type.String(),
  job_id: Type.String({ description: 'The job that built the index, or still builds it (status 202).' }),
  job_state: Type.String({ description: '`DONE` or `IN_PROGRESS`.' }),
  version: Type.Optional(Version),
  transaction_id: Type.Optional(Type.String()),
  context: Type.Optional(Context),
});
export type CreateIndexReply = Type.Static<typeof CreateIndexReply>;

export const BranchQuery = Type.Object({ ...DelimiterQuery.properties, branch: Type.Optional(Branch) });

export const StateQuery = Type.Object({
  ...BranchQuery.properties,
  version: Type.Optional(Type.String({ description: 'Version of the table, as a whole number.' })),
});

const stateFields = { version: Type.Optional(Version), branch: Type.Optional(Branch) };

export const ListIndicesBody = Type.Object(
  {
    ...requestFields,
    ...stateFields,
    page_token: text('The token of the page before.'),
    limit: Type.Optional(Type.Integer({ minimum: 1, description: 'Most indexes on the page.' })),
  },
  { additionalProperties: false },
);
export type ListIndicesBody = Type.Static<typeof ListIndicesBody>;

const rows = (description: string) => Type.Optional(Type.Integer({ minimum: 0, description }));

export const IndexContent = Type.Object({
  index_name: Type.String(),
  index_uuid: Type.String(),
  columns: Type.Array(Type.String(), { description: 'Canonical field paths.' }),
  status: Type.String({ description: '`DONE`: an index is listed once it is built.' }),
  index_type: Type.String(),
  type_url: text('Precise type of the index.'),
  created_at: text('Time of the build, RFC 3339.'),
  num_indexed_rows: rows('Rows that the index covers.'),
  num_unindexed_rows: rows('Rows that came after the build.'),
  size_bytes: rows('Size of the files of the index.'),
  num_segments: rows('Parts of the index.'),
  index_version: rows('Version of the format of the index.'),
  index_details: text('JSON text with what the index was built with.'),
});
export type IndexContent = Type.Static<typeof IndexContent>;

export const ListIndicesReply = Type.Object({
  indexes: Type.Array(IndexContent),
  page_token: Type.Optional(Type.String()),
  context: Type.Optional(Context),
});
export type ListIndicesReply = Type.Static<typeof ListIndicesReply>;

const indexName = { index_name: text('Name of the index. Must agree with the address.') };

export const IndexStatsBody = Type.Object(
  { ...requestFields, ...stateFields, ...indexName },
  { additionalProperties: false },
);
export type IndexStatsBody = Type.Static<typeof IndexStatsBody>;

export const IndexStatsReply = Type.Object({
  index_type: Type.String(),
  num_indexed_rows: Type.Integer({ minimum: 0 }),
  num_unindexed_rows: Type.Integer({ minimum: 0 }),
  distance_type: text('Of vector indexes.'),
  num_indices: rows('Parts of the index.'),
  context: Type.Optional(Context),
});
export type IndexStatsReply = Type.Static<typeof IndexStatsReply>;

export const DropIndexBody = Type.Object(
  { ...requestFields, ...indexName, branch: Type.Optional(Branch) },
  { additionalProperties: false },
);
export type DropIndexBody = Type.Static<typeof DropIndexBody>;

export const DropIndexReply = Type.Object({
  version: Version,
  transaction_id: Type.Optional(Type.String()),
  context: Type.Optional(Context),
});
export type DropIndexReply = Type.Static<typeof DropIndexReply>;

export const PrewarmIndexBody = IndexStatsBody;
export type PrewarmIndexBody = IndexStatsBody;

export const PrewarmPageCacheBody = Type.Object(
  {
    ...requestFields,
    ...stateFields,
    columns: Type.Optional(Type.Array(Type.String({ minLength: 1 }), { description: 'Field paths; none means all.' })),
  },
  { additionalProperties: false },
);
export type PrewarmPageCacheBody = Type.Static<typeof PrewarmPageCacheBody>;

export const PrewarmReply = Type.Object({ context: Type.Optional(Context) });
