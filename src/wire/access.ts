import { Type } from 'typebox';
import { Context, requestFields } from './shapes.ts';

/** Keys, clients and grants are no objects of a database: their requests carry no identifier. */
const { identity, context } = requestFields;
const callerFields = { identity, context };

const Name = Type.String({ minLength: 1, description: 'A name for people, such as what the credential is for.' });

const Role = Type.String({ description: '`reader`, `writer`, `owner` or `admin`.' });

const grantFields = {
  role: Role,
  database: Type.Optional(Type.String({ minLength: 1, description: 'The database on which the role holds.' })),
  all_databases: Type.Optional(
    Type.Boolean({ description: 'True instead of `database`: the role holds on every database.' }),
  ),
  path: Type.Optional(
    Type.Array(Type.String(), {
      description: 'Names of a namespace or a table in the database; the whole database when absent.',
    }),
  ),
};

export const GrantShape = Type.Object(grantFields, { additionalProperties: false });
export type GrantShape = Type.Static<typeof GrantShape>;

const Principal = Type.String({
  minLength: 1,
  description: 'Who: `key:<id>`, `client:<id>`, or `token:<issuer>#<subject>`.',
});

const pageFields = {
  limit: Type.Optional(Type.Integer({ minimum: 1, description: 'How many at most.' })),
  page_token: Type.Optional(Type.String({ description: 'The token of the page before.' })),
};

const PageToken = Type.Optional(Type.String({ description: 'Present when there are more.' }));

export const CreateCredentialBody = Type.Object(
  {
    ...callerFields,
    name: Name,
    grants: Type.Array(GrantShape, {
      minItems: 1,
      description: 'What it may do. Never more than its maker administers.',
    }),
    expires_in_seconds: Type.Optional(
      Type.Integer({ minimum: 1, description: 'After this time it is no longer valid; without end when absent.' }),
    ),
  },
  { additionalProperties: false },
);
export type CreateCredentialBody = Type.Static<typeof CreateCredentialBody>;

const credentialFields = {
  id: Type.String(),
  principal: Type.String({ description: 'As grants, records and logs name it.' }),
  name: Type.String(),
  state: Type.String({ description: '`valid`, `expired` or `revoked`.' }),
  created_at: Type.String({ description: 'ISO 8601.' }),
  expires_at: Type.Optional(Type.String({ description: 'ISO 8601.' })),
  grants: Type.Array(GrantShape, { description: 'Those that the caller administers.' }),
  other_grants: Type.Optional(
    Type.Boolean({ description: 'True when there are grants that the caller does not administer.' }),
  ),
};

const Credential = Type.Object(credentialFields);
export type Credential = Type.Static<typeof Credential>;

export const CreateKeyReply = Type.Object({
  ...credentialFields,
  key: Type.String({ description: 'The key itself. It is shown only now.' }),
  context: Type.Optional(Context),
});

export const CreateClientReply = Type.Object({
  ...credentialFields,
  client_id: Type.String(),
  client_secret: Type.String({ description: 'The secret itself. It is shown only now.' }),
  issuer_url: Type.Optional(Type.String({ description: 'Where its tokens come from; absent when that is nowhere.' })),
  context: Type.Optional(Context),
});

export const PageBody = Type.Object({ ...callerFields, ...pageFields }, { additionalProperties: false });
export type PageBody = Type.Static<typeof PageBody>;

export const ListKeysReply = Type.Object({
  keys: Type.Array(Credential),
  page_token: PageToken,
  context: Type.Optional(Context),
});

export const ListClientsReply = Type.Object({
  clients: Type.Array(Credential),
  page_token: PageToken,
  context: Type.Optional(Context),
});

export const RevokeKeyBody = Type.Object(
  { ...callerFields, key_id: Type.String({ minLength: 1 }) },
  { additionalProperties: false },
);

export const RevokeClientBody = Type.Object(
  { ...callerFields, client_id: Type.String({ minLength: 1 }) },
  { additionalProperties: false },
);

export const RevokeReply = Type.Object({ id: Type.String(), context: Type.Optional(Context) });

export const GrantBody = Type.Object(
  { ...callerFields, principal: Principal, ...grantFields },
  { additionalProperties: false },
);
export type GrantBody = Type.Static<typeof GrantBody>;

const GivenGrant = Type.Object({ principal: Type.String(), ...grantFields });
export type GivenGrant = Type.Static<typeof GivenGrant>;

export const GrantReply = Type.Object({ ...GivenGrant.properties, context: Type.Optional(Context) });

export const ListGrantsBody = Type.Object(
  {
    ...callerFields,
    ...pageFields,
    principal: Type.Optional(Principal),
    database: Type.Optional(Type.String({ minLength: 1, description: 'Only grants on this database.' })),
  },
  { additionalProperties: false },
);
export type ListGrantsBody = Type.Static<typeof ListGrantsBody>;

export const ListGrantsReply = Type.Object({
  grants: Type.Array(GivenGrant),
  page_token: PageToken,
  context: Type.Optional(Context),
});

export const DatabaseBody = Type.Object(
  { ...callerFields, name: Type.String({ minLength: 1, description: 'Name of the database.' }) },
  { additionalProperties: false },
);

export const DatabaseReply = Type.Object({ name: Type.String(), context: Type.Optional(Context) });

export const ListDatabasesReply = Type.Object({
  databases: Type.Array(Type.Object({ name: Type.String() })),
  page_token: PageToken,
  context: Type.Optional(Context),
});
export type ListDatabasesReply = Type.Static<typeof ListDatabasesReply>;
