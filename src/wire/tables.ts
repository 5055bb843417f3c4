import { Type } from 'typebox';
import { Branch, Context, StringMap, Version, requestFields, IdentifierPath } from './shapes.ts';

export const DelimiterQuery = Type.Object({
  delimiter: Type.Optional(Type.String({ minLength: 1, description: 'Delimiter of the identifier; `$` when absent.' })),
});

export const CreateTableQuery = Type.Object({
  ...DelimiterQuery.properties,
  mode: Type.Optional(
    Type.String({ description: '`create` (default), `exist_ok` or `overwrite`; case and underscore do not matter.' }),
  ),
  properties: Type.Optional(
    Type.String({ description: 'JSON object of strings: properties that the catalog keeps with the table.' }),
  ),
  storage_options: Type.Optional(
    Type.String({ description: 'JSON object of strings: options of the storage layer for this write.' }),
  ),
});

export const CreateTableReply = Type.Object({
  location: Type.String(),
  version: Version,
  storage_options: StringMap,
  properties: Type.Union([StringMap, Type.Null()]),
  transaction_id: Type.Optional(Type.String()),
  context: Type.Optional(Context),
});
export type CreateTableReply = Type.Static<typeof CreateTableReply>;

export const ListTablesQuery = Type.Object({
  ...DelimiterQuery.properties,
  limit: Type.Optional(Type.String({ description: 'How many tables at most, as a whole number.' })),
  page_token: Type.Optional(
    Type.String({ description: 'The token of the page before, or the identifier after which to go on.' }),
  ),
});

export const ListTablesReply = Type.Object({
  tables: Type.Array(Type.String()),
  page_token: Type.Optional(Type.String({ description: 'Present when there are more.' })),
  context: Type.Optional(Context),
});
export type ListTablesReply = Type.Static<typeof ListTablesReply>;

export const DescribeTableBody = Type.Object(
  {
    ...requestFields,
    version: Type.Optional(Version),
    branch: Type.Optional(Branch),
    tag: Type.Optional(Type.String({ minLength: 1, description: 'Instead of `version` and `branch`.' })),
    with_table_uri: Type.Optional(Type.Boolean()),
    load_detailed_metadata: Type.Optional(Type.Boolean()),
    check_declared: Type.Optional(Type.Boolean()),
    vend_credentials: Type.Optional(Type.Boolean()),
  },
  { additionalProperties: false },
);
export type DescribeTableBody = Type.Static<typeof DescribeTableBody>;

const Flag = Type.Optional(Type.String({ description: '`true` or `false`, as in the body.' }));

export const DescribeTableQuery = Type.Object({
  ...DelimiterQuery.properties,
  with_table_uri: Flag,
  load_detailed_metadata: Flag,
  check_declared: Flag,
});

export const DescribeTableReply = Type.Object({
  table: Type.String(),
  namespace: Type.Array(Type.String()),
  version: Type.Optional(Version),
  location: Type.String(),
  table_uri: Type.String(),
  schema: Type.Optional(Type.Object({}, { additionalProperties: true, description: 'The Arrow schema as JSON.' })),
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
  context: Type.Optional(Context),
});
export type DescribeTableReply = Type.Static<typeof DescribeTableReply>;

/** How tables come, change their names and go. */

export const ListTablesOfQuery = Type.Object({
  ...ListTablesQuery.properties,
  include_declared: Type.Optional(
    Type.String({
      description: '`false` leaves out tables without data. Default `true`; for the LanceDB client `false`.',
    }),
  ),
});

export const TableExistsBody = Type.Object(
  { ...requestFields, version: Type.Optional(Version) },
  { additionalProperties: false },
);
export type TableExistsBody = Type.Static<typeof TableExistsBody>;

/** Of a table that exists, and nothing else. */
export const TableBody = Type.Object({ ...requestFields }, { additionalProperties: false });
export type TableBody = Type.Static<typeof TableBody>;

/** What is left to say of a table that was dropped or deregistered. */
export const GoneTableReply = Type.Object({
  id: IdentifierPath,
  location: Type.String(),
  properties: StringMap,
  transaction_id: Type.String(),
  context: Type.Optional(Context),
});
export type GoneTableReply = Type.Static<typeof GoneTableReply>;

export const DeclareTableBody = Type.Object(
  {
    ...requestFields,
    location: Type.Optional(Type.String({ description: 'Refused: the service chooses where data stand.' })),
    vend_credentials: Type.Optional(Type.Boolean()),
    properties: Type.Optional(StringMap),
  },
  { additionalProperties: false },
);
export type DeclareTableBody = Type.Static<typeof DeclareTableBody>;

export const DeclareTableReply = Type.Object({
  location: Type.String({ description: 'Where the caller writes the data.' }),
  storage_options: StringMap,
  properties: StringMap,
  transaction_id: Type.String(),
  context: Type.Optional(Context),
});
export type DeclareTableReply = Type.Static<typeof DeclareTableReply>;

export const RegisterTableBody = Type.Object(
  {
    ...requestFields,
    location: Type.String({
      minLength: 1,
      description: 'Directory of the data, from the storage root of the database on, such as `imported/orders.lance`.',
    }),
    mode: Type.Optional(
      Type.String({ description: '`create` (default), or `overwrite`: a table of this name is deregistered first.' }),
    ),
    properties: Type.Optional(StringMap),
  },
  { additionalProperties: false },
);
export type RegisterTableBody = Type.Static<typeof RegisterTableBody>;

export const RegisterTableReply = Type.Object({
  location: Type.String(),
  properties: StringMap,
  transaction_id: Type.String(),
  context: Type.Optional(Context),
});
export type RegisterTableReply = Type.Static<typeof RegisterTableReply>;

export const RenameTableBody = Type.Object(
  {
    ...requestFields,
    new_table_name: Type.String({ minLength: 1 }),
    new_namespace_id: Type.Optional(
      Type.Array(Type.String(), { description: 'The namespace to move to; the present one when absent.' }),
    ),
    new_namespace: Type.Optional(
      Type.Array(Type.String(), { description: 'The same, as the LanceDB client calls it.' }),
    ),
  },
  { additionalProperties: false },
);
export type RenameTableBody = Type.Static<typeof RenameTableBody>;

export const RenameTableReply = Type.Object({ transaction_id: Type.String(), context: Type.Optional(Context) });
export type RenameTableReply = Type.Static<typeof RenameTableReply>;

export const CloneTableBody = Type.Object(
  {
    ...requestFields,
    source_location: Type.String({ minLength: 1, description: 'As the description of the source gives it.' }),
    source_version: Type.Optional(Version),
    source_tag: Type.Optional(Type.String({ minLength: 1 })),
    is_shallow: Type.Optional(
      Type.Boolean({
        description: 'Either way the clone shares files that never change, and needs its source no more.',
      }),
    ),
  },
  { additionalProperties: false },
);
export type CloneTableBody = Type.Static<typeof CloneTableBody>;

export const CloneTableReply = Type.Object({
  location: Type.String(),
  version: Version,
  properties: StringMap,
  transaction_id: Type.Optional(Type.String()),
  context: Type.Optional(Context),
});
export type CloneTableReply = Type.Static<typeof CloneTableReply>;
