import { Type } from 'typebox';
import { Context, IdentifierPath, StringMap, Version, requestFields } from './shapes.ts';
import { ListTablesQuery } from './tables.ts';

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
