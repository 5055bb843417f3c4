import { Type } from 'typebox';
import * as Shape from './shapes.ts';

export const CreateIndexBody = Shape.requestBody({
  column: Type.String({ minLength: 1, description: 'Path of the field to index.' }),
  index_type: Type.Optional(
    Type.String({
      minLength: 1,
      description:
        '`IVF_FLAT`, `IVF_PQ`, `IVF_RQ`, `IVF_HNSW_SQ`, `IVF_HNSW_PQ`, `BTREE`, `BITMAP`, `LABEL_LIST`, `FM` or `FTS`; by default the server chooses.',
    }),
  ),
  name: Shape.optionalText('Name of the index; by default the column followed by `_idx`.'),
  replace: Shape.optionalFlag(
    'Replace an index of the same name on the same column (`true`, the default) or refuse. Without `index_type`, an index of another type is never replaced.',
  ),
  branch: Type.Optional(Shape.Branch),
  distance_type: Shape.optionalText('Vector indexes: `l2`, `cosine`, `dot` or `hamming`.'),
  metric_type: Shape.optionalText('Same as `distance_type`; the name that the LanceDB client uses.'),
  num_partitions: Shape.optionalInteger('Vector indexes: number of partitions.'),
  target_partition_size: Shape.optionalInteger('Vector indexes: rows per partition, in place of `num_partitions`.'),
  sample_rate: Shape.optionalInteger('Vector indexes: training rows per partition.'),
  max_iterations: Shape.optionalInteger('Vector indexes: maximum number of training iterations.'),
  num_sub_vectors: Shape.optionalInteger('IVF_PQ and IVF_HNSW_PQ: number of sub-vectors; must divide the dimension.'),
  num_bits: Shape.optionalInteger('IVF_PQ: 4 or 8. IVF_RQ: 1 to 9.'),
  m: Shape.optionalInteger('HNSW indexes: neighbours per vector in the graph, at least 4; 20 by default.'),
  ef_construction: Shape.optionalInteger('HNSW indexes: candidates considered while building the graph, at least `m`.'),
  recall_target: Type.Optional(
    Type.Number({
      exclusiveMinimum: 0,
      maximum: 1,
      description: 'Vector indexes: recall target of searches that set no search parameters.',
    }),
  ),
  with_position: Shape.optionalFlag('Full-text indexes: store positions, which phrase queries need.'),
  base_tokenizer: Shape.optionalText('Full-text indexes: `simple`, `whitespace`, `raw`, `ngram` or `icu`.'),
  language: Shape.optionalText('Full-text indexes: language for stemming and stop words.'),
  max_token_length: Shape.optionalInteger('Full-text indexes: maximum length of an indexed word.'),
  lower_case: Shape.optionalFlag('Full-text indexes: convert to lower case.'),
  stem: Shape.optionalFlag('Full-text indexes: reduce words to their stems.'),
  remove_stop_words: Shape.optionalFlag('Full-text indexes: omit stop words.'),
  ascii_folding: Shape.optionalFlag('Full-text indexes: remove accents from letters.'),
  min_ngram_length: Shape.optionalInteger('Full-text indexes with the `ngram` tokenizer: minimum n-gram length.'),
  max_ngram_length: Shape.optionalInteger('Full-text indexes with the `ngram` tokenizer: maximum n-gram length.'),
  prefix_only: Shape.optionalFlag('Full-text indexes with the `ngram` tokenizer: only n-grams at the start of words.'),
  custom_stop_words: Type.Optional(
    Type.Array(Type.String({ minLength: 1 }), {
      description: 'Full-text indexes: stop words that replace those of the language.',
    }),
  ),
  block_size: Shape.optionalInteger('Full-text indexes: documents per posting-list block, 128 or 256.'),
  lance_tokenizer: Shape.optionalText('Not offered.'),
});
export type CreateIndexBody = Type.Static<typeof CreateIndexBody>;

const measuredFields = {
  share: Type.Number({ description: 'Fraction of rows that pass the filter; 1 without a filter.' }),
  recall: Type.Number({ description: 'Measured recall, from 0 to 1.' }),
  latency_ms: Type.Number({ description: 'Measured latency of one search, in milliseconds.' }),
  nprobes: Shape.optionalCount('Number of partitions searched; with a filter, the minimum.'),
  all_partitions: Shape.optionalFlag('True if every partition is searched.'),
  exact: Shape.optionalFlag('True if every row is compared because the index cannot reach the target.'),
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
      description: 'The same for filtered searches, least selective filter first.',
    }),
    tuned_at: Type.String({ description: 'Time of the measurement, RFC 3339.' }),
    tuning_ms: Shape.count('Duration of the measurement, in milliseconds.'),
    advice: Shape.optionalText('What to do if the target was not reached.'),
  },
  { description: 'Vector indexes: default search parameters, tuned for 10 results, with the measured recall.' },
);
export type IndexSearch = Type.Static<typeof IndexSearch>;

export const CreateIndexReply = Shape.replyBody({
  index_name: Type.String(),
  index_type: Shape.optionalText(),
  index_type_reason: Shape.optionalText('Why the server chose this type; present if the request named none.'),
  job_id: Type.String({
    description: 'Id of the job that builds the index. With status 202, the job is still running.',
  }),
  job_state: Type.String({ description: '`DONE` or `IN_PROGRESS`.' }),
  version: Type.Optional(Shape.Version),
  transaction_id: Shape.optionalText(),
  search: Type.Optional(IndexSearch),
});
export type CreateIndexReply = Type.Static<typeof CreateIndexReply>;

export const StateQuery = Type.Object({
  ...Shape.BranchQuery.properties,
  version: Shape.optionalText('Version of the table, as an integer.'),
});

export const ListIndicesBody = Shape.requestBody({
  ...Shape.stateFields,
  page_token: Shape.optionalText('`page_token` of the previous page.'),
  limit: Type.Optional(Type.Integer({ minimum: 1, description: 'Maximum number of indexes on the page.' })),
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
  num_unindexed_rows: Shape.optionalCount('Rows added after the build.'),
  size_bytes: Shape.optionalCount('Size of the index files.'),
  num_segments: Shape.optionalCount('Number of segments of the index.'),
  index_version: Shape.optionalCount('Version of the index format.'),
  index_details: Shape.optionalText('Parameters that the index was built with, as JSON text.'),
  search: Type.Optional(IndexSearch),
});
export type IndexContent = Type.Static<typeof IndexContent>;

export const ListIndicesReply = Shape.replyBody({
  indexes: Type.Array(IndexContent),
  page_token: Shape.optionalText(),
});
export type ListIndicesReply = Type.Static<typeof ListIndicesReply>;

const indexName = { index_name: Shape.optionalText('Name of the index. Must match the URL.') };

export const IndexStatsBody = Shape.requestBody({ ...Shape.stateFields, ...indexName });

export const IndexStatsReply = Shape.replyBody({
  index_type: Type.String(),
  num_indexed_rows: Shape.count(),
  num_unindexed_rows: Shape.count(),
  distance_type: Shape.optionalText('Vector indexes only.'),
  num_indices: Shape.optionalCount('Number of segments of the index.'),
  search: Type.Optional(IndexSearch),
});
export type IndexStatsReply = Type.Static<typeof IndexStatsReply>;

export const DropIndexBody = Shape.requestBody({ ...indexName, branch: Type.Optional(Shape.Branch) });

export const DropIndexReply = Shape.writeReply({});
export type DropIndexReply = Type.Static<typeof DropIndexReply>;

export const PrewarmPageCacheBody = Shape.requestBody({
  ...Shape.stateFields,
  columns: Type.Optional(
    Type.Array(Type.String({ minLength: 1 }), { description: 'Field paths of the columns to load; all by default.' }),
  ),
});

export const PrewarmReply = Shape.replyBody({});
