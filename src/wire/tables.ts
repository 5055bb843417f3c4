import { Type } from 'typebox';
import * as Shape from './shapes.ts';

export const CreateTableQuery = Shape.queryParameters({
  mode: Shape.optionalText('`create` (default), `exist_ok` or `overwrite`; case and underscore do not matter.'),
  properties: Shape.optionalText('JSON object of strings: properties that the catalog keeps with the table.'),
  storage_options: Shape.optionalText('JSON object of strings: options of the storage layer for this write.'),
});

export const CreateTableReply = Shape.replyBody({
  location: Type.String(),
  version: Shape.Version,
  storage_options: Shape.StringMap,
  properties: Type.Union([Shape.StringMap, Type.Null()]),
  transaction_id: Shape.optionalText(),
});
export type CreateTableReply = Type.Static<typeof CreateTableReply>;

export const ListTablesQuery = Shape.queryParameters({
  limit: Shape.optionalText('How many tables at most, as a whole number.'),
  page_token: Shape.optionalText('The token of the page before, or the identifier after which to go on.'),
});

export const ListTablesReply = Shape.replyBody({
  tables: Type.Array(Type.String()),
  page_token: Shape.NextPageToken,
});
export type ListTablesReply = Type.Static<typeof ListTablesReply>;

export const DescribeTableBody = Shape.requestBody({
  ...Shape.stateFields,
  tag: Type.Optional(Type.String({ minLength: 1, description: 'Instead of `version` and `branch`.' })),
  with_table_uri: Shape.optionalFlag('Adds `table_uri`.'),
  load_detailed_metadata: Shape.optionalFlag(
    'Adds `stats` and `metadata`; `false` leaves out names, version and schema too.',
  ),
  check_declared: Shape.optionalFlag('`false` leaves out `is_only_declared`.'),
  vend_credentials: Shape.optionalFlag('Adds short-lived credentials for the files of the table to `storage_options`.'),
});
export type DescribeTableBody = Type.Static<typeof DescribeTableBody>;

const Flag = Shape.optionalText('`true` or `false`, as in the body.');

export const DescribeTableQuery = Shape.queryParameters({
  with_table_uri: Flag,
  load_detailed_metadata: Flag,
  check_declared: Flag,
});

const ManagedVersioning = Type.Boolean({ description: 'Writers of files commit their versions through the service.' });

export const DescribeTableReply = Shape.replyBody({
  table: Shape.optionalText(),
  namespace: Type.Optional(Type.Array(Type.String())),
  version: Type.Optional(Shape.Version),
  location: Type.String(),
  table_uri: Shape.optionalText('With `with_table_uri`.'),
  schema: Type.Optional(Shape.anyObject('The Arrow schema as JSON.')),
  stats: Type.Optional(
    Type.Object(
      { num_deleted_rows: Type.Integer(), num_fragments: Type.Integer() },
      { description: 'With `load_detailed_metadata`.' },
    ),
  ),
  metadata: Type.Optional(Shape.StringMap),
  is_only_declared: Shape.optionalFlag('The table has no data yet, and so neither version nor schema.'),
  storage_options: Shape.StringMap,
  properties: Type.Union([Shape.StringMap, Type.Null()]),
  managed_versioning: ManagedVersioning,
});
export type DescribeTableReply = Type.Static<typeof DescribeTableReply>;

export const ListTablesOfQuery = Type.Object({
  ...ListTablesQuery.properties,
  include_declared: Shape.optionalText(
    '`false` leaves out tables without data. Default `true`; for the LanceDB client `false`.',
  ),
});

export const TableExistsBody = Shape.requestBody({ version: Type.Optional(Shape.Version) });

/** A table that was dropped or deregistered. */
export const GoneTableReply = Shape.replyBody({
  id: Shape.IdentifierPath,
  location: Type.String(),
  properties: Shape.StringMap,
  transaction_id: Type.String(),
});
export type GoneTableReply = Type.Static<typeof GoneTableReply>;

export const DeclareTableBody = Shape.requestBody({
  location: Shape.optionalText('Refused: the service chooses where data stand.'),
  vend_credentials: Shape.optionalFlag('Adds short-lived credentials for the files of the table to `storage_options`.'),
  properties: Type.Optional(Shape.StringMap),
});

export const DeclareTableReply = Shape.replyBody({
  location: Type.String({ description: 'Where the caller writes the data.' }),
  storage_options: Shape.StringMap,
  properties: Shape.StringMap,
  managed_versioning: ManagedVersioning,
  transaction_id: Type.String(),
});

export const RegisterTableBody = Shape.requestBody({
  location: Type.String({
    minLength: 1,
    description: 'Directory of the data, from the storage root of the database on, such as `imported/orders.lance`.',
  }),
  mode: Shape.optionalText('`create` (default), or `overwrite`: a table of this name is deregistered first.'),
  properties: Type.Optional(Shape.StringMap),
});
export type RegisterTableBody = Type.Static<typeof RegisterTableBody>;

export const RegisterTableReply = Shape.replyBody({
  location: Type.String(),
  properties: Shape.StringMap,
  transaction_id: Type.String(),
});

export const RenameTableBody = Shape.requestBody({
  new_table_name: Type.String({ minLength: 1 }),
  new_namespace_id: Type.Optional(
    Type.Array(Type.String(), { description: 'The namespace to move to; the present one when absent.' }),
  ),
  new_namespace: Type.Optional(Type.Array(Type.String(), { description: 'The same, as the LanceDB client calls it.' })),
});
export type RenameTableBody = Type.Static<typeof RenameTableBody>;

export const RenameTableReply = Shape.replyBody({ transaction_id: Type.String() });
export type RenameTableReply = Type.Static<typeof RenameTableReply>;

export const CloneTableBody = Shape.requestBody({
  source_location: Type.String({ minLength: 1, description: 'As the description of the source gives it.' }),
  source_version: Type.Optional(Shape.Version),
  source_tag: Type.Optional(Type.String({ minLength: 1 })),
  is_shallow: Shape.optionalFlag('Either way the clone shares files that never change, and needs its source no more.'),
});
export type CloneTableBody = Type.Static<typeof CloneTableBody>;

export const CloneTableReply = Shape.replyBody({
  location: Type.String(),
  version: Shape.Version,
  properties: Shape.StringMap,
  transaction_id: Shape.optionalText(),
});

export const TableStatsBody = Shape.requestBody({ branch: Type.Optional(Shape.Branch) });
export type TableStatsBody = Type.Static<typeof TableStatsBody>;

const count = Shape.count();

export const TableStatsReply = Shape.replyBody({
  total_bytes: Shape.count('Bytes of the columns of all rows.'),
  num_rows: count,
  num_indices: count,
  fragment_stats: Type.Object({
    num_fragments: count,
    num_small_fragments: Shape.count('How many fragments could be merged.'),
    lengths: Type.Object(
      { min: count, max: count, mean: count, p25: count, p50: count, p75: count, p99: count },
      { description: 'Rows per fragment.' },
    ),
  }),
});
export type TableStatsReply = Type.Static<typeof TableStatsReply>;
