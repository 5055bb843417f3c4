import { Type } from 'typebox';
import {
  Branch,
  anyObject,
  NextPageToken,
  IdentifierPath,
  StringMap,
  Version,
  optionalFlag,
  optionalText,
  queryParameters,
  replyBody,
  requestBody,
} from './shapes.ts';

export const CreateTableQuery = queryParameters({
  mode: optionalText('`create` (default), `exist_ok` or `overwrite`; case and underscore do not matter.'),
  properties: optionalText('JSON object of strings: properties that the catalog keeps with the table.'),
  storage_options: optionalText('JSON object of strings: options of the storage layer for this write.'),
});

export const CreateTableReply = replyBody({
  location: Type.String(),
  version: Version,
  storage_options: StringMap,
  properties: Type.Union([StringMap, Type.Null()]),
  transaction_id: optionalText(),
});
export type CreateTableReply = Type.Static<typeof CreateTableReply>;

export const ListTablesQuery = queryParameters({
  limit: optionalText('How many tables at most, as a whole number.'),
  page_token: optionalText('The token of the page before, or the identifier after which to go on.'),
});

export const ListTablesReply = replyBody({
  tables: Type.Array(Type.String()),
  page_token: NextPageToken,
});
export type ListTablesReply = Type.Static<typeof ListTablesReply>;

export const DescribeTableBody = requestBody({
  version: Type.Optional(Version),
  branch: Type.Optional(Branch),
  tag: Type.Optional(Type.String({ minLength: 1, description: 'Instead of `version` and `branch`.' })),
  with_table_uri: optionalFlag(),
  load_detailed_metadata: optionalFlag(),
  check_declared: optionalFlag(),
  vend_credentials: optionalFlag(),
});
export type DescribeTableBody = Type.Static<typeof DescribeTableBody>;

const Flag = optionalText('`true` or `false`, as in the body.');

export const DescribeTableQuery = queryParameters({
  with_table_uri: Flag,
  load_detailed_metadata: Flag,
  check_declared: Flag,
});

export const DescribeTableReply = replyBody({
  table: Type.String(),
  namespace: Type.Array(Type.String()),
  version: Type.Optional(Version),
  location: Type.String(),
  table_uri: Type.String(),
  schema: Type.Optional(anyObject('The Arrow schema as JSON.')),
  stats: Type.Optional(
    Type.Object(
      { num_deleted_rows: Type.Integer(), num_fragments: Type.Integer() },
      { description: 'With `load_detailed_metadata`.' },
    ),
  ),
  metadata: Type.Optional(StringMap),
  is_only_declared: Type.Boolean({ description: 'The table has no data yet, and so neither version nor schema.' }),
  storage_options: StringMap,
  properties: Type.Union([StringMap, Type.Null()]),
});
export type DescribeTableReply = Type.Static<typeof DescribeTableReply>;

export const ListTablesOfQuery = Type.Object({
  ...ListTablesQuery.properties,
  include_declared: optionalText(
    '`false` leaves out tables without data. Default `true`; for the LanceDB client `false`.',
  ),
});

export const TableExistsBody = requestBody({ version: Type.Optional(Version) });

/** Of a table that exists, and nothing else. */
export const TableBody = requestBody({});
export type TableBody = Type.Static<typeof TableBody>;

/** What is left to say of a table that was dropped or deregistered. */
export const GoneTableReply = replyBody({
  id: IdentifierPath,
  location: Type.String(),
  properties: StringMap,
  transaction_id: Type.String(),
});
export type GoneTableReply = Type.Static<typeof GoneTableReply>;

export const DeclareTableBody = requestBody({
  location: optionalText('Refused: the service chooses where data stand.'),
  vend_credentials: optionalFlag(),
  properties: Type.Optional(StringMap),
});

export const DeclareTableReply = replyBody({
  location: Type.String({ description: 'Where the caller writes the data.' }),
  storage_options: StringMap,
  properties: StringMap,
  transaction_id: Type.String(),
});
export type DeclareTableReply = Type.Static<typeof DeclareTableReply>;

export const RegisterTableBody = requestBody({
  location: Type.String({
    minLength: 1,
    description: 'Directory of the data, from the storage root of the database on, such as `imported/orders.lance`.',
  }),
  mode: optionalText('`create` (default), or `overwrite`: a table of this name is deregistered first.'),
  properties: Type.Optional(StringMap),
});
export type RegisterTableBody = Type.Static<typeof RegisterTableBody>;

export const RegisterTableReply = replyBody({
  location: Type.String(),
  properties: StringMap,
  transaction_id: Type.String(),
});
export type RegisterTableReply = Type.Static<typeof RegisterTableReply>;

export const RenameTableBody = requestBody({
  new_table_name: Type.String({ minLength: 1 }),
  new_namespace_id: Type.Optional(
    Type.Array(Type.String(), { description: 'The namespace to move to; the present one when absent.' }),
  ),
  new_namespace: Type.Optional(Type.Array(Type.String(), { description: 'The same, as the LanceDB client calls it.' })),
});
export type RenameTableBody = Type.Static<typeof RenameTableBody>;

export const RenameTableReply = replyBody({ transaction_id: Type.String() });
export type RenameTableReply = Type.Static<typeof RenameTableReply>;

export const CloneTableBody = requestBody({
  source_location: Type.String({ minLength: 1, description: 'As the description of the source gives it.' }),
  source_version: Type.Optional(Version),
  source_tag: Type.Optional(Type.String({ minLength: 1 })),
  is_shallow: optionalFlag('Either way the clone shares files that never change, and needs its source no more.'),
});
export type CloneTableBody = Type.Static<typeof CloneTableBody>;

export const CloneTableReply = replyBody({
  location: Type.String(),
  version: Version,
  properties: StringMap,
  transaction_id: optionalText(),
});
export type CloneTableReply = Type.Static<typeof CloneTableReply>;

export const TableStatsBody = requestBody({ branch: Type.Optional(Branch) });
export type TableStatsBody = Type.Static<typeof TableStatsBody>;

const count = Type.Integer({ minimum: 0 });

export const TableStatsReply = replyBody({
  total_bytes: Type.Integer({ minimum: 0, description: 'Bytes of the columns of all rows.' }),
  num_rows: count,
  num_indices: count,
  fragment_stats: Type.Object({
    num_fragments: count,
    num_small_fragments: Type.Integer({ minimum: 0, description: 'How many fragments could be merged.' }),
    lengths: Type.Object(
      { min: count, max: count, mean: count, p25: count, p50: count, p75: count, p99: count },
      { description: 'Rows per fragment.' },
    ),
  }),
});
export type TableStatsReply = Type.Static<typeof TableStatsReply>;
