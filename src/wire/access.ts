import { Type } from 'typebox';
import * as Shape from './shapes.ts';

const grantFields = {
  role: Type.String({ description: '`reader`, `writer`, `owner` or `admin`.' }),
  database: Type.Optional(Type.String({ minLength: 1, description: 'The database on which the role holds.' })),
  all_databases: Shape.optionalFlag('True instead of `database`: the role holds on every database.'),
  path: Type.Optional(
    Type.Array(Type.String(), {
      description: 'Names of a namespace or a table in the database; the whole database when absent.',
    }),
  ),
};

export const GrantShape = Shape.strictObject(grantFields);
export type GrantShape = Type.Static<typeof GrantShape>;

const Principal = Type.String({
  minLength: 1,
  description: 'Who: `key:<id>`, `client:<id>`, or `token:<issuer>#<subject>`.',
});

const listFields = {
  limit: Type.Optional(Type.Integer({ minimum: 1, description: 'How many at most.' })),
  page_token: Shape.optionalText('The token of the page before.'),
};

export const CreateCredentialBody = Shape.requestBodyWithoutId({
  name: Type.String({ minLength: 1, description: 'A name for people, such as what the credential is for.' }),
  grants: Type.Array(GrantShape, {
    minItems: 1,
    description: 'What it may do. Never more than its maker administers.',
  }),
  expires_in_seconds: Type.Optional(
    Type.Integer({ minimum: 1, description: 'After this time it is no longer valid; without end when absent.' }),
  ),
});
export type CreateCredentialBody = Type.Static<typeof CreateCredentialBody>;

const credentialFields = {
  id: Type.String(),
  principal: Type.String({ description: 'As grants, records and logs name it.' }),
  name: Type.String(),
  state: Type.String({ description: '`valid`, `expired` or `revoked`.' }),
  created_at: Type.String({ description: 'ISO 8601.' }),
  expires_at: Shape.optionalText('ISO 8601.'),
  grants: Type.Array(GrantShape, { description: 'Those that the caller administers.' }),
  other_grants: Shape.optionalFlag('True when there are grants that the caller does not administer.'),
};

const Credential = Type.Object(credentialFields);
export type Credential = Type.Static<typeof Credential>;

export const CreateKeyReply = Shape.replyBody({
  ...credentialFields,
  key: Type.String({ description: 'The key itself. It is shown only now.' }),
});

export const CreateClientReply = Shape.replyBody({
  ...credentialFields,
  client_id: Type.String(),
  client_secret: Type.String({ description: 'The secret itself. It is shown only now.' }),
  issuer_url: Shape.optionalText('Where its tokens come from; absent when that is nowhere.'),
});

export const PageBody = Shape.requestBodyWithoutId(listFields);
export type PageBody = Type.Static<typeof PageBody>;

export const ListKeysReply = Shape.replyBody({ keys: Type.Array(Credential), page_token: Shape.NextPageToken });

export const ListClientsReply = Shape.replyBody({ clients: Type.Array(Credential), page_token: Shape.NextPageToken });

export const RevokeKeyBody = Shape.requestBodyWithoutId({ key_id: Type.String({ minLength: 1 }) });

export const RevokeClientBody = Shape.requestBodyWithoutId({ client_id: Type.String({ minLength: 1 }) });

export const RevokeReply = Shape.replyBody({ id: Type.String() });

export const GrantBody = Shape.requestBodyWithoutId({ principal: Principal, ...grantFields });

const GivenGrant = Type.Object({ principal: Type.String(), ...grantFields });
export type GivenGrant = Type.Static<typeof GivenGrant>;

export const GrantReply = Shape.replyBody({ ...GivenGrant.properties });

export const ListGrantsBody = Shape.requestBodyWithoutId({
  ...listFields,
  principal: Type.Optional(Principal),
  database: Type.Optional(Type.String({ minLength: 1, description: 'Only grants on this database.' })),
});

export const ListGrantsReply = Shape.replyBody({ grants: Type.Array(GivenGrant), page_token: Shape.NextPageToken });

export const DatabaseBody = Shape.requestBodyWithoutId({
  name: Type.String({ minLength: 1, description: 'Name of the database.' }),
});

export const DatabaseReply = Shape.replyBody({ name: Type.String() });

export const ListDatabasesReply = Shape.replyBody({
  databases: Type.Array(Type.Object({ name: Type.String() })),
  page_token: Shape.NextPageToken,
});
export type ListDatabasesReply = Type.Static<typeof ListDatabasesReply>;

const quotaFields = {
  requests_per_second: Type.Optional(
    Type.Integer({ minimum: 1, description: 'Requests per second. Each node counts the requests that it gets.' }),
  ),
  concurrent_reads: Type.Optional(
    Type.Integer({ minimum: 0, description: 'Reads in flight at once. Each node counts its own.' }),
  ),
  concurrent_writes: Type.Optional(
    Type.Integer({ minimum: 0, description: 'Writes and uploads in flight at once. Each node counts its own.' }),
  ),
  bytes: Type.Optional(Type.Integer({ minimum: 0, description: 'Bytes of the latest versions of the tables.' })),
  rows: Type.Optional(Type.Integer({ minimum: 0, description: 'Rows of the latest versions of the tables.' })),
  tables: Type.Optional(Type.Integer({ minimum: 0, description: 'Tables.' })),
};

export const QuotaShape = Type.Object(quotaFields);
export type QuotaShape = Type.Static<typeof QuotaShape>;

const subjectFields = {
  principal: Type.Optional(
    Type.String({ minLength: 1, description: 'Whose quota: `key:<id>` or `client:<id>`. Or give `database`.' }),
  ),
  database: Type.Optional(
    Type.String({ minLength: 1, description: 'The database whose quota it is. Or give `principal`.' }),
  ),
};

export const SetQuotaBody = Shape.requestBodyWithoutId({ ...subjectFields, ...quotaFields });
export type SetQuotaBody = Type.Static<typeof SetQuotaBody>;

export const RemoveQuotaBody = Shape.requestBodyWithoutId({
  ...subjectFields,
  limits: Type.Optional(
    Type.Array(Type.String(), {
      minItems: 1,
      description: 'The limits to remove, such as `rows`; all of them when absent.',
    }),
  ),
});

const GivenQuota = Type.Object({
  principal: Shape.optionalText('Of the quota of a key or a client.'),
  database: Shape.optionalText('Of the quota of a database.'),
  quota: QuotaShape,
});
export type GivenQuota = Type.Static<typeof GivenQuota>;

export const QuotaReply = Shape.replyBody({ ...GivenQuota.properties });

export const ListQuotasReply = Shape.replyBody({ quotas: Type.Array(GivenQuota), page_token: Shape.NextPageToken });

export const UsageBody = Shape.requestBodyWithoutId({
  principal: Type.Optional(
    Type.String({ minLength: 1, description: '`key:<id>` or `client:<id>`; the caller itself by default.' }),
  ),
  database: Type.Optional(Type.String({ minLength: 1, description: 'The database, in place of a principal.' })),
});

export const UsageReply = Shape.replyBody({
  ...GivenQuota.properties,
  usage: Type.Object({
    bytes: Type.Integer({ description: 'Bytes of the latest versions of its tables.' }),
    rows: Type.Integer({ description: 'Rows of the latest versions of its tables.' }),
    tables: Type.Integer({ description: 'Tables, including declared ones.' }),
    unmeasured_tables: Type.Integer({ description: 'Tables whose bytes and rows are not known yet.' }),
  }),
});
export type UsageReply = Type.Static<typeof UsageReply>;
