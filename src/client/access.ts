import { DEFAULT_DELIMITER, formatPath } from '../model/identifier.ts';
import type { NamespacePath, TablePath } from '../model/identifier.ts';
import type {
  CreateClientReply,
  CreateCredentialBody,
  CreateKeyReply,
  Credential,
  DatabaseReply,
  GivenGrant,
  GivenQuota,
  GrantBody,
  ListClientsReply,
  ListDatabasesReply,
  ListGrantsBody,
  ListGrantsReply,
  ListKeysReply,
  ListQuotasReply,
  ListSigningKeysReply,
  ListedGrant,
  QuotaReply,
  QuotaShape,
  RevokeReply,
  RotateSigningKeyReply,
  SigningKey,
  UsageReply,
  WhoamiReply,
} from '../wire/access.ts';
import type { ApiClient, JsonClient } from './api-client.ts';
import { collect, readItems } from './calls.ts';

/** Includes the permissions on a table, a namespace, or otherwise the database. */
export async function whoami(
  client: ApiClient,
  on: { readonly table?: TablePath; readonly namespace?: NamespacePath } = {},
): Promise<WhoamiReply> {
  const { table, namespace } = on;
  // No name contains a slash, but names may contain the default delimiter.
  const named = table ?? namespace;
  const isPlain = named === undefined || named.every((name) => !name.includes(DEFAULT_DELIMITER));
  const delimiter = isPlain ? undefined : '/';
  const query = {
    table: table && formatPath(table, delimiter),
    namespace: namespace && formatPath(namespace, delimiter),
    delimiter,
  };
  return client.json('/v1/whoami', { query });
}

export async function createKey(client: JsonClient, body: CreateCredentialBody): Promise<CreateKeyReply> {
  return client.json('/v1/access/key/create', { json: body });
}

export async function createOauthClient(client: JsonClient, body: CreateCredentialBody): Promise<CreateClientReply> {
  return client.json('/v1/access/client/create', { json: body });
}

export async function listKeys(client: JsonClient): Promise<Credential[]> {
  return collect(readItems(client, '/v1/access/key/list', ({ keys }: ListKeysReply) => keys, {}));
}

export async function listOauthClients(client: JsonClient): Promise<Credential[]> {
  return collect(readItems(client, '/v1/access/client/list', ({ clients }: ListClientsReply) => clients, {}));
}

export async function revokeKey(client: JsonClient, id: string): Promise<RevokeReply> {
  return client.json('/v1/access/key/revoke', { json: { key_id: id } });
}

export async function revokeOauthClient(client: JsonClient, id: string): Promise<RevokeReply> {
  return client.json('/v1/access/client/revoke', { json: { client_id: id } });
}

export async function createGrant(client: JsonClient, grant: GrantBody): Promise<GivenGrant> {
  return client.json('/v1/access/grant/create', { json: grant });
}

export async function deleteGrant(client: JsonClient, grant: GrantBody): Promise<GivenGrant> {
  return client.json('/v1/access/grant/delete', { json: grant });
}

export async function listGrants(client: JsonClient, body: ListGrantsBody): Promise<ListedGrant[]> {
  return collect(readItems(client, '/v1/access/grant/list', ({ grants }: ListGrantsReply) => grants, body));
}

export async function createDatabase(client: JsonClient, name: string): Promise<DatabaseReply> {
  return client.json('/v1/database/create', { json: { name } });
}

export async function dropDatabase(client: JsonClient, name: string): Promise<DatabaseReply> {
  return client.json('/v1/database/drop', { json: { name } });
}

export async function listDatabases(client: JsonClient): Promise<ListDatabasesReply['databases']> {
  return collect(readItems(client, '/v1/database/list', ({ databases }: ListDatabasesReply) => databases, {}));
}

/** A principal, such as `key:ID`, or `database:NAME`. */
export type QuotaSubject = string;

/** The usage of the caller if no subject is given. */
export async function describeUsage(client: ApiClient, subject?: QuotaSubject): Promise<UsageReply> {
  return client.json('/v1/access/usage', { json: subject === undefined ? {} : toSubjectFields(subject) });
}

export function toSubjectFields(subject: QuotaSubject): { database: string } | { principal: string } {
  const prefix = 'database:';
  return subject.startsWith(prefix) ? { database: subject.slice(prefix.length) } : { principal: subject };
}

export async function setQuota(client: JsonClient, subject: QuotaSubject, quota: QuotaShape): Promise<QuotaReply> {
  return client.json('/v1/access/quota/set', { json: { ...toSubjectFields(subject), ...quota } });
}

/** Removes all limits if none is given. */
export async function removeQuota(
  client: JsonClient,
  subject: QuotaSubject,
  limits?: readonly string[],
): Promise<QuotaReply> {
  return client.json('/v1/access/quota/remove', { json: { ...toSubjectFields(subject), limits } });
}

export async function listQuotas(client: JsonClient): Promise<GivenQuota[]> {
  return collect(readItems(client, '/v1/access/quota/list', ({ quotas }: ListQuotasReply) => quotas, {}));
}

/** The first one signs. */
export async function listSigningKeys(client: JsonClient): Promise<SigningKey[]> {
  const { keys } = await client.json<ListSigningKeysReply>('/v1/access/signing_key/list', { json: {} });
  return keys;
}

export async function rotateSigningKey(
  client: JsonClient,
  options: { readonly forgetEarlier: boolean },
): Promise<RotateSigningKeyReply> {
  return client.json('/v1/access/signing_key/rotate', { json: { forget_earlier: options.forgetEarlier } });
}
