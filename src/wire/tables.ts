import { Type } from 'typebox';
import * as Shape from './shapes.ts';

export const CreateTableQuery = Shape.queryParameters({
  mode: Shape.optionalText('`create` (default), `exist_ok` or `overwrite`; case and underscores are ignored.'),
  properties: Shape.optionalText('Properties to store with the table in the catalog, as a JSON object of strings.'),
  storage_options: Shape.optionalText('Options of the storage layer for this write, as a JSON object of strings.'),
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
  limit: Shape.optionalText('Maximum number of tables, as an integer.'),
  page_token: Shape.optionalText('`page_token` of the previous page, or a table identifier to start after.'),
});

export const ListTablesReply = Shape.replyBody({
  tables: Type.Array(Type.String()),
  page_token: Shape.NextPageToken,
});
export type ListTablesReply = Type.Static<typeof ListTablesReply>;

export const DescribeTableBody = Shape.requestBody({
  ...Shape.stateFields,
  tag: Type.Optional(
    Type.String({ minLength: 1, description: 'Tag of the version, in place of `version` and `branch`.' }),
  ),
  with_table_uri: Shape.optionalFlag('Include `table_uri` in the reply.'),
  load_detailed_metadata: Shape.optionalFlag(
    '`true` includes `stats` and `metadata` in the reply; `false` also omits names, version and schema.',
  ),
  check_declared: Shape.optionalFlag('`false` omits `is_only_declared` from the reply.'),
  vend_credentials: Shape.optionalFlag(
    'Include short-lived credentials for the files of the table in `storage_options`.',
  ),
});
export type DescribeTableBody = Type.Static<typeof DescribeTableBody>;

const Flag = Shape.optionalText('`true` or `false`; same as the field in the body.');

export const DescribeTableQuery = Shape.queryParameters({
  with_table_uri: Flag,
  load_detailed_metadata: Flag,
  check_declared: Flag,
});

const ManagedVersioning = Type.Boolean({ description: 'Whether external writers commit through the server.' });

export const DescribeTableReply = Shape.replyBody({
  table: Shape.optionalText(),
  namespace: Type.Optional(Type.Array(Type.String())),
  version: Type.Optional(Shape.Version),
  location: Type.String(),
  table_uri: Shape.optionalText('Present if `with_table_uri` is set.'),
  schema: Type.Optional(Shape.anyObject('The Arrow schema as JSON.')),
  stats: Type.Optional(
    Type.Object(
      { num_deleted_rows: Type.Integer(), num_fragments: Type.Integer() },
      { description: 'Present if `load_detailed_metadata` is set.' },
    ),
  ),
  metadata: Type.Optional(Shape.StringMap),
  is_only_declared: Shape.optionalFlag('True if the table has no data yet, and therefore no version or schema.'),
  storage_options: Shape.StringMap,
  properties: Type.Union([Shape.StringMap, Type.Null()]),
  managed_versioning: ManagedVersioning,
});
export type DescribeTableReply = Type.Static<typeof DescribeTableReply>;

export const ListTablesOfQuery = Type.Object({
  ...ListTablesQuery.properties,
  include_declared: Shape.optionalText(
    '`false` omits tables without data. `true` by default; `false` by default for the LanceDB client.',
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
  location: Shape.optionalText(
    'Directory for the data, below the storage root of the database, such as `imported/orders.lance`. Nothing may exist there yet, and you need the role owner on the database. By default the server chooses a directory.',
  ),
  vend_credentials: Shape.optionalFlag(
    'Include short-lived credentials for the files of the table in `storage_options`.',
  ),
  properties: Type.Optional(Shape.StringMap),
});

export const DeclareTableReply = Shape.replyBody({
  location: Type.String({ description: 'Where to write the data.' }),
  storage_options: Shape.StringMap,
  properties: Shape.StringMap,
  managed_versioning: ManagedVersioning,
  transaction_id: Type.String(),
});

export const RegisterTableBody = Shape.requestBody({
  location: Type.String({
    minLength: 1,
    description:
      'Directory of the data, relative to the storage root of the database, such as `imported/orders.lance`.',
  }),
  mode: Shape.optionalText('`create` (default), or `overwrite` to deregister an existing table of this name first.'),
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
    Type.Array(Type.String(), { description: 'Namespace to move the table to; by default it stays in its namespace.' }),
  ),
  new_namespace: Type.Optional(
    Type.Array(Type.String(), { description: 'Same as `new_namespace_id`; the name that the LanceDB client uses.' }),
  ),
});
export type RenameTableBody = Type.Static<typeof RenameTableBody>;

export const RenameTableReply = Shape.replyBody({ transaction_id: Type.String() });
export type RenameTableReply = Type.Static<typeof RenameTableReply>;

export const CloneTableBody = Shape.requestBody({
  source_location: Type.String({ minLength: 1, description: '`location` of the source, as `describe` returns it.' }),
  source_version: Type.Optional(Shape.Version),
  source_branch: Type.Optional(Shape.Branch),
  source_tag: Type.Optional(Type.String({ minLength: 1, description: 'Names branch and version.' })),
  is_shallow: Shape.optionalFlag(
    'Has no effect: a clone never depends on its source, and shares immutable files where the storage allows it.',
  ),
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
  total_bytes: Shape.count('Size of the columns of all rows, in bytes.'),
  num_rows: count,
  num_indices: count,
  fragment_stats: Type.Object({
    num_fragments: count,
    num_small_fragments: Shape.count('Number of fragments that could be merged.'),
    lengths: Type.Object(
      { min: count, max: count, mean: count, p25: count, p50: count, p75: count, p99: count },
      { description: 'Rows per fragment.' },
    ),
  }),
});
export type TableStatsReply = Type.Static<typeof TableStatsReply>;
