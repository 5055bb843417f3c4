import { Type } from 'typebox';
import { Branch, Context, StringMap, Version, requestFields } from '../shapes.ts';
import { DelimiterQuery } from '../tables.ts';

const integer = (description: string) => Type.Integer({ minimum: 0, description });

/** How a listing is read page by page. */
export const pageParameters = {
  limit: Type.Optional(Type.String({ description: 'How many entries at most, as a whole number.' })),
  page_token: Type.Optional(Type.String({ description: 'The token of the page before.' })),
};

/** The same in a body, where some clients write it. */
export const pageFields = {
  limit: Type.Optional(Type.Integer({ minimum: 1 })),
  page_token: Type.Optional(Type.String()),
};

/** What answers a change that has nothing else to tell. */
export const ChangeReply = Type.Object({
  transaction_id: Type.Optional(Type.String()),
  context: Type.Optional(Context),
});
export type ChangeReply = Type.Static<typeof ChangeReply>;

export const BranchQuery = Type.Object({ ...DelimiterQuery.properties, branch: Type.Optional(Branch) });

export const ListVersionsQuery = Type.Object({
  ...BranchQuery.properties,
  ...pageParameters,
  descending: Type.Optional(Type.String({ description: '`true` for the latest first; oldest first when absent.' })),
});

export const ListVersionsBody = Type.Object(
  { ...requestFields, ...pageFields, branch: Type.Optional(Branch), descending: Type.Optional(Type.Boolean()) },
  { additionalProperties: false },
);
export type ListVersionsBody = Type.Static<typeof ListVersionsBody>;

export const TableVersionShape = Type.Object({
  version: Version,
  timestamp: Type.String({ description: 'When it was committed, as RFC 3339.' }),
  timestamp_millis: Type.Integer({ description: 'The same in milliseconds since 1970.' }),
  metadata: StringMap,
  manifest_path: Type.String({ description: 'The file that records the version.' }),
  manifest_size: Type.Optional(integer('Its bytes, where the storage tells them.')),
});
export type TableVersionShape = Type.Static<typeof TableVersionShape>;

export const ListVersionsReply = Type.Object({
  versions: Type.Array(TableVersionShape),
  page_token: Type.Optional(Type.String({ description: 'Present when there are more.' })),
  context: Type.Optional(Context),
});
export type ListVersionsReply = Type.Static<typeof ListVersionsReply>;

export const DescribeVersionBody = Type.Object(
  { ...requestFields, version: Type.Optional(Version), branch: Type.Optional(Branch) },
  { additionalProperties: false },
);
export type DescribeVersionBody = Type.Static<typeof DescribeVersionBody>;

export const DescribeVersionReply = Type.Object({ version: TableVersionShape, context: Type.Optional(Context) });
export type DescribeVersionReply = Type.Static<typeof DescribeVersionReply>;

export const DeleteVersionsBody = Type.Object(
  {
    ...requestFields,
    branch: Type.Optional(Branch),
    ranges: Type.Array(
      Type.Object(
        {
          start_version: Version,
          end_version: Type.Integer({
            minimum: -1,
            maximum: Number.MAX_SAFE_INTEGER,
            description: 'The version before which the range ends; -1 for no end.',
          }),
        },
        { additionalProperties: false },
      ),
    ),
  },
  { additionalProperties: false },
);
export type DeleteVersionsBody = Type.Static<typeof DeleteVersionsBody>;

export const DeleteVersionsReply = Type.Object({
  deleted_count: integer('How many versions were deleted.'),
  transaction_id: Type.Optional(Type.String()),
  context: Type.Optional(Context),
});
export type DeleteVersionsReply = Type.Static<typeof DeleteVersionsReply>;

export const RestoreTableBody = Type.Object(
  { ...requestFields, version: Version, branch: Type.Optional(Branch) },
  { additionalProperties: false },
);
export type RestoreTableBody = Type.Static<typeof RestoreTableBody>;

export const RestoreTableReply = Type.Object({ ...ChangeReply.properties, version: Version });
export type RestoreTableReply = Type.Static<typeof RestoreTableReply>;

export const TableStatsBody = Type.Object(
  { ...requestFields, branch: Type.Optional(Branch) },
  { additionalProperties: false },
);
export type TableStatsBody = Type.Static<typeof TableStatsBody>;

const length = Type.Integer({ minimum: 0 });

export const TableStatsReply = Type.Object({
  total_bytes: integer('Bytes of the columns of all rows.'),
  num_rows: length,
  num_indices: length,
  fragment_stats: Type.Object({
    num_fragments: length,
    num_small_fragments: integer('How many fragments could be merged.'),
    lengths: Type.Object(
      { min: length, max: length, mean: length, p25: length, p50: length, p75: length, p99: length },
      { description: 'Rows per fragment.' },
    ),
  }),
  context: Type.Optional(Context),
});
export type TableStatsReply = Type.Static<typeof TableStatsReply>;

export const SchemaMetadataBody = Type.Object(
  { ...requestFields, branch: Type.Optional(Branch), metadata: StringMap },
  {
    additionalProperties: false,
    description: 'The pairs, either as the whole body or as `metadata`.',
  },
);
export type SchemaMetadataBody = Type.Static<typeof SchemaMetadataBody>;
