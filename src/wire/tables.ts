import { Type } from 'typebox';
import { Branch, Context, StringMap, Version, requestFields } from './shapes.ts';

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
