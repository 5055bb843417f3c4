import { Type } from 'typebox';
import * as Shape from './shapes.ts';

const grantFields = {
  role: Type.String({ description: '`reader`, `writer`, `owner` or `admin`.' }),
  database: Type.Optional(Type.String({ minLength: 1, description: 'Database that the role applies to.' })),
  all_databases: Shape.optionalFlag('`true`, in place of `database`, if the role applies to every database.'),
  path: Type.Optional(
    Type.Array(Type.String(), {
      description: 'Path of a namespace or table in the database, as a list of names; the whole database if absent.',
    }),
  ),
};

export const GrantShape = Shape.strictObject(grantFields);
export type GrantShape = Type.Static<typeof GrantShape>;

const Principal = Type.String({
  minLength: 1,
  description: 'Principal: `key:<id>`, `client:<id>` or `token:<issuer>#<subject>`.',
});

const listFields = {
  limit: Type.Optional(Type.Integer({ minimum: 1, description: 'Maximum number of entries.' })),
  page_token: Shape.optionalText('`page_token` of the previous page.'),
};

export const CreateCredentialBody = Shape.requestBodyWithoutId({
  name: Type.String({ minLength: 1, description: 'A display name, such as the purpose of the credential.' }),
  grants: Type.Array(GrantShape, {
    minItems: 1,
    description: 'Roles of the credential. You can grant roles only on what you administer.',
  }),
  expires_in_seconds: Type.Optional(
    Type.Integer({ minimum: 1, description: 'Seconds until it expires; by default it does not expire.' }),
  ),
});
export type CreateCredentialBody = Type.Static<typeof CreateCredentialBody>;

const credentialFields = {
  id: Type.String(),
  principal: Type.String({ description: 'Identifies the credential in grants, the audit log and server logs.' }),
  name: Type.String(),
  state: Type.String({ description: '`valid`, `expired` or `revoked`.' }),
  created_at: Type.String({ description: 'ISO 8601.' }),
  expires_at: Shape.optionalText('ISO 8601.'),
  grants: Type.Array(GrantShape, { description: 'Grants that the caller administers.' }),
  other_grants: Shape.optionalFlag('True if there are grants that the caller does not administer.'),
};

const Credential = Type.Object(credentialFields);
export type Credential = Type.Static<typeof Credential>;

export const CreateKeyReply = Shape.replyBody({
  ...credentialFields,
  key: Type.String({ description: 'The key. It is shown only once.' }),
});
export type CreateKeyReply = Type.Static<typeof CreateKeyReply>;

export const CreateClientReply = Shape.replyBody({
  ...credentialFields,
  client_id: Type.String(),
  client_secret: Type.String({ description: 'The secret. It is shown only once.' }),
  issuer_url: Shape.optionalText('URL of the issuer of its tokens; absent if this server issues no tokens.'),
});
export type CreateClientReply = Type.Static<typeof CreateClientReply>;

export const PageBody = Shape.requestBodyWithoutId(listFields);
export type PageBody = Type.Static<typeof PageBody>;

export const ListKeysReply = Shape.replyBody({ keys: Type.Array(Credential), page_token: Shape.NextPageToken });
export type ListKeysReply = Type.Static<typeof ListKeysReply>;

export const ListClientsReply = Shape.replyBody({ clients: Type.Array(Credential), page_token: Shape.NextPageToken });
export type ListClientsReply = Type.Static<typeof ListClientsReply>;

export const RevokeKeyBody = Shape.requestBodyWithoutId({ key_id: Type.String({ minLength: 1 }) });

export const RevokeClientBody = Shape.requestBodyWithoutId({ client_id: Type.String({ minLength: 1 }) });

export const RevokeReply = Shape.replyBody({ id: Type.String() });
export type RevokeReply = Type.Static<typeof RevokeReply>;

export const GrantBody = Shape.requestBodyWithoutId({ principal: Principal, ...grantFields });
export type GrantBody = Type.Static<typeof GrantBody>;

const GivenGrant = Type.Object({ principal: Type.String(), ...grantFields });
export type GivenGrant = Type.Static<typeof GivenGrant>;

export const GrantReply = Shape.replyBody({ ...GivenGrant.properties });

export const ListGrantsBody = Shape.requestBodyWithoutId({
  ...listFields,
  principal: Type.Optional(Principal),
  database: Type.Optional(Type.String({ minLength: 1, description: 'Only grants on this database.' })),
});
export type ListGrantsBody = Type.Static<typeof ListGrantsBody>;

const ListedGrant = Type.Object({
  ...GivenGrant.properties,
  principal_name: Shape.optionalText('Name of the key or client, even if it is revoked; absent for other principals.'),
});
export type ListedGrant = Type.Static<typeof ListedGrant>;

export const ListGrantsReply = Shape.replyBody({ grants: Type.Array(ListedGrant), page_token: Shape.NextPageToken });
export type ListGrantsReply = Type.Static<typeof ListGrantsReply>;

export const DatabaseBody = Shape.requestBodyWithoutId({
  name: Type.String({ minLength: 1, description: 'Name of the database.' }),
});

export const DatabaseReply = Shape.replyBody({ name: Type.String() });
export type DatabaseReply = Type.Static<typeof DatabaseReply>;

export const ListDatabasesReply = Shape.replyBody({
  databases: Type.Array(Type.Object({ name: Type.String() })),
  page_token: Shape.NextPageToken,
});
export type ListDatabasesReply = Type.Static<typeof ListDatabasesReply>;

const quotaFields = {
  requests_per_second: Type.Optional(
    Type.Integer({ minimum: 1, description: 'Maximum requests per second, counted separately on each node.' }),
  ),
  concurrent_reads: Type.Optional(
    Type.Integer({ minimum: 0, description: 'Maximum concurrent reads, counted separately on each node.' }),
  ),
  concurrent_writes: Type.Optional(
    Type.Integer({
      minimum: 0,
      description: 'Maximum concurrent writes and uploads, counted separately on each node.',
    }),
  ),
  bytes: Type.Optional(
    Type.Integer({ minimum: 0, description: 'Maximum total size of the latest versions of the tables, in bytes.' }),
  ),
  rows: Type.Optional(
    Type.Integer({ minimum: 0, description: 'Maximum number of rows in the latest versions of the tables.' }),
  ),
  tables: Type.Optional(Type.Integer({ minimum: 0, description: 'Maximum number of tables.' })),
};

export const QuotaShape = Type.Object(quotaFields);
export type QuotaShape = Type.Static<typeof QuotaShape>;

const subjectFields = {
  principal: Type.Optional(
    Type.String({
      minLength: 1,
      description: 'Principal that the quota applies to: `key:<id>` or `client:<id>`. Give this or `database`.',
    }),
  ),
  database: Type.Optional(
    Type.String({ minLength: 1, description: 'Database that the quota applies to. Give this or `principal`.' }),
  ),
};

export const SetQuotaBody = Shape.requestBodyWithoutId({ ...subjectFields, ...quotaFields });
export type SetQuotaBody = Type.Static<typeof SetQuotaBody>;

export const RemoveQuotaBody = Shape.requestBodyWithoutId({
  ...subjectFields,
  limits: Type.Optional(
    Type.Array(Type.String(), {
      minItems: 1,
      description: 'Limits to remove, such as `rows`; all by default.',
    }),
  ),
});

const GivenQuota = Type.Object({
  principal: Shape.optionalText('Present if the quota applies to a key or a client.'),
  database: Shape.optionalText('Present if the quota applies to a database.'),
  quota: QuotaShape,
});
export type GivenQuota = Type.Static<typeof GivenQuota>;

export const QuotaReply = Shape.replyBody({ ...GivenQuota.properties });
export type QuotaReply = Type.Static<typeof QuotaReply>;

export const ListQuotasReply = Shape.replyBody({ quotas: Type.Array(GivenQuota), page_token: Shape.NextPageToken });
export type ListQuotasReply = Type.Static<typeof ListQuotasReply>;

export const UsageBody = Shape.requestBodyWithoutId({
  principal: Type.Optional(
    Type.String({ minLength: 1, description: '`key:<id>` or `client:<id>`; the caller itself by default.' }),
  ),
  database: Type.Optional(Type.String({ minLength: 1, description: 'A database, in place of `principal`.' })),
});

export const UsageReply = Shape.replyBody({
  ...GivenQuota.properties,
  usage: Type.Object({
    bytes: Type.Integer({ description: 'Total size of the latest versions of its tables, in bytes.' }),
    rows: Type.Integer({ description: 'Number of rows in the latest versions of its tables.' }),
    tables: Type.Integer({ description: 'Number of tables, including declared ones.' }),
    unmeasured_tables: Type.Integer({ description: 'Number of tables whose size and row count are not known yet.' }),
  }),
});
export type UsageReply = Type.Static<typeof UsageReply>;

const SigningKey = Type.Object({
  id: Type.String(),
  state: Type.String({
    description: '`signs` (signs new tokens) or `retired` (only verifies tokens that it signed earlier).',
  }),
  created_at: Type.String({ description: 'ISO 8601.' }),
});
export type SigningKey = Type.Static<typeof SigningKey>;

export const RotateSigningKeyBody = Shape.requestBodyWithoutId({
  forget_earlier: Shape.optionalFlag('Invalidate all tokens signed by earlier keys.'),
});

export const RotateSigningKeyReply = Shape.replyBody({ ...SigningKey.properties });
export type RotateSigningKeyReply = Type.Static<typeof RotateSigningKeyReply>;

export const ListSigningKeysBody = Shape.requestBodyWithoutId({});

export const ListSigningKeysReply = Shape.replyBody({ keys: Type.Array(SigningKey) });
export type ListSigningKeysReply = Type.Static<typeof ListSigningKeysReply>;

export const WhoamiQuery = Shape.queryParameters({
  table: Shape.optionalText('Identifier of a table; `permissions` then lists the permissions on it.'),
  namespace: Shape.optionalText('Identifier of a namespace, in place of `table`.'),
});

export const WhoamiReply = Shape.replyBody({
  name: Type.String({ description: 'The name of the key or client, or the subject of the token.' }),
  kind: Type.String({ description: '`key`, `client`, `token` or `anonymous`.' }),
  id: Type.String({
    description: 'Principal, such as `key:<id>`, as it appears in grants, the audit log and server logs.',
  }),
  is_admin: Type.Boolean({ description: 'Whether the caller administers all databases.' }),
  database: Type.String({ description: 'The database of the request.' }),
  roles: Type.Array(
    Type.Object({
      role: Type.String({ description: '`reader`, `writer`, `owner` or `admin`.' }),
      on: Type.Object({
        kind: Type.String({ description: '`database`, `namespace` or `table`.' }),
        name: Type.String({
          description:
            'Name of the database, `*` for all databases, or the path of the namespace or table joined by the delimiter.',
        }),
        database: Shape.optionalText('Database of the namespace or table.'),
        all_databases: Shape.optionalFlag('True if the role applies to every database.'),
      }),
    }),
  ),
  permissions: Type.Array(Type.String(), {
    description:
      'Any of `see`, `read`, `write`, `manage` and `administer`: the permissions on the table or namespace in the query, or else on the database.',
  }),
});
export type WhoamiReply = Type.Static<typeof WhoamiReply>;
