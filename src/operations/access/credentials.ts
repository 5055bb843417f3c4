import type { Catalog, CredentialRecord, CredentialStore } from '../../catalog/catalog.ts';
import { ServiceError, invalidInput } from '../../errors/service-error.ts';
import { requireInteger } from '../../guard/numbers.ts';
import { administeredDatabases, administersEverything, mayChange, mayGive } from '../../model/access.ts';
import type { Caller } from '../../model/access.ts';
import { INVISIBLE, quoteForMessage } from '../../model/identifier.ts';
import { notPermitted } from '../../model/refusals.ts';
import {
  CreateClientReply,
  CreateCredentialBody,
  CreateKeyReply,
  ListClientsReply,
  ListKeysReply,
  PageBody,
  RevokeClientBody,
  RevokeKeyBody,
  RevokeReply,
} from '../../wire/access.ts';
import type { Credential } from '../../wire/access.ts';
import type { Sent } from '../../wire/shapes.ts';
import { defineServerOperation, json, objectReply } from '../operation.ts';
import type { Reply, ServerRequest } from '../operation.ts';
import type { Services } from '../services.ts';
import { collectPages, cutPage, readIdToken, readPageSize } from '../shared/pages.ts';
import { readGrant, reportChange, requireGivable, toGrantShape } from './access-rules.ts';

/** Keys and clients differ in their secrets; the same rules apply to both. */
type CredentialKind = 'key' | 'client';

export const createKey = defineServerOperation({
  id: 'create_key',
  path: '/v1/access/key/create',
  summary: 'Create an API key; the key is shown once',
  permission: 'administer',
  body: { kind: 'json', shape: CreateCredentialBody },
  replies: [json(CreateKeyReply, 'The key, which is shown only once.')],
  async run(request, services) {
    const { key, digest } = services.generateApiKey();
    const credential = await create('key', { ...request, digest }, services);
    return objectReply<typeof CreateKeyReply>({ ...credential, key });
  },
});

export const listKeys = defineServerOperation({
  id: 'list_keys',
  path: '/v1/access/key/list',
  summary: 'List API keys',
  permission: 'administer',
  body: { kind: 'json', shape: PageBody },
  replies: [json(ListKeysReply, 'API keys, oldest first, without the keys themselves.')],
  async run(request, services) {
    const { credentials: keys, page_token } = await list('key', request, services);
    return objectReply<typeof ListKeysReply>({ keys, page_token });
  },
});

export const revokeKey = defineServerOperation({
  id: 'revoke_key',
  path: '/v1/access/key/revoke',
  summary: 'Revoke an API key immediately',
  permission: 'administer',
  body: { kind: 'json', shape: RevokeKeyBody },
  replies: [json(RevokeReply, 'The key is revoked.')],
  statuses: [409],
  run: async (request, services) => revoke('key', { ...request, id: request.body.key_id }, services),
});

export const createClient = defineServerOperation({
  id: 'create_client',
  path: '/v1/access/client/create',
  summary: 'Create an OAuth client; its secret is shown once',
  permission: 'administer',
  body: { kind: 'json', shape: CreateCredentialBody },
  replies: [json(CreateClientReply, 'The client with its secret, which is shown only once.')],
  async run(request, services) {
    const { secret, digest } = services.generateClientSecret();
    const client = await create('client', { ...request, digest }, services);
    const login = { client_id: client.id, client_secret: secret, issuer_url: services.issuerUrl };
    return objectReply<typeof CreateClientReply>({ ...client, ...login });
  },
});

export const listClients = defineServerOperation({
  id: 'list_clients',
  path: '/v1/access/client/list',
  summary: 'List OAuth clients',
  permission: 'administer',
  body: { kind: 'json', shape: PageBody },
  replies: [json(ListClientsReply, 'OAuth clients, oldest first, without their secrets.')],
  async run(request, services) {
    const { credentials: clients, page_token } = await list('client', request, services);
    return objectReply<typeof ListClientsReply>({ clients, page_token });
  },
});

export const revokeClient = defineServerOperation({
  id: 'revoke_client',
  path: '/v1/access/client/revoke',
  summary: 'Revoke an OAuth client and all its tokens immediately',
  permission: 'administer',
  body: { kind: 'json', shape: RevokeClientBody },
  replies: [json(RevokeReply, 'The client is revoked.')],
  run: async (request, services) => revoke('client', { ...request, id: request.body.client_id }, services),
});

/** A credential is hidden from callers who administer none of the objects that it has grants on. */
export async function requireChangeable(
  kind: CredentialKind,
  { id, caller }: { readonly id: string; readonly caller: Caller },
  catalog: Catalog,
): Promise<void> {
  const record = await storeOf(kind, catalog).find(id);
  if (record === undefined || !isVisible(record, caller)) throw notFound(kind, id);
  if (!mayChange(caller, record.grants)) throw notPermitted('administer');
}

/** Ten years: a credential must not outlive the memory of its purpose. */
const EXPIRY_SECONDS_MAX = 10 * 366 * 24 * 60 * 60;

async function create(
  kind: CredentialKind,
  request: ServerRequest<CreateCredentialBody> & { readonly digest: string },
  services: Services,
): Promise<Sent<Credential>> {
  const { body, caller, digest } = request;
  const { catalog, limits, now } = services;
  const { grantsMax } = limits.access;
  requireInteger(body.grants.length, { field: 'The number of grants', minimum: 1, maximum: grantsMax });
  const grants = body.grants.map(readGrant);
  for (const grant of grants) requireGivable(caller, grant);
  const expiresAt = readExpiry(body.expires_in_seconds, now());
  const name = requireName(body.name);
  const record = await storeOf(kind, catalog).create({ name, digest, grants, expiresAt, knownDatabasesOnly: true });
  reportChange(request, `${kind}:${record.id}`, services);
  return toCredential(kind, record, caller, now());
}

async function list(kind: CredentialKind, { body, caller }: ServerRequest<PageBody>, services: Services) {
  const limit = readPageSize(body.limit, services);
  const after = readIdToken(body.page_token);
  const databases = administeredDatabases(caller);
  const store = storeOf(kind, services.catalog);
  const found = await collectPages<CredentialRecord>(
    limit + 1,
    async (last, wanted) => store.list({ limit: wanted, databases, after: last?.id ?? after }),
    (record) => isVisible(record, caller),
  );
  const { entries, page_token } = cutPage(found, limit, ({ id }) => id);
  return { credentials: entries.map((record) => toCredential(kind, record, caller, services.now())), page_token };
}

async function revoke(
  kind: CredentialKind,
  request: ServerRequest & { readonly id: string },
  services: Services,
): Promise<Reply> {
  const { id } = request;
  await requireChangeable(kind, request, services.catalog);
  const isRevoked = await storeOf(kind, services.catalog).revoke(id);
  if (!isRevoked) throw notFound(kind, id);
  reportChange(request, `${kind}:${id}`, services);
  return objectReply<typeof RevokeReply>({ id });
}

function storeOf(kind: CredentialKind, { keys, clients }: Catalog): CredentialStore {
  return kind === 'key' ? keys : clients;
}

function isVisible({ grants }: CredentialRecord, caller: Caller): boolean {
  return administersEverything(caller) || grants.some((grant) => mayGive(caller, grant));
}

function toCredential(kind: CredentialKind, record: CredentialRecord, caller: Caller, now: number): Sent<Credential> {
  const { id, name, expiresAt } = record;
  const grants = record.grants.filter((grant) => mayGive(caller, grant));
  return {
    id,
    principal: `${kind}:${id}`,
    name,
    state: stateOf(record, now),
    created_at: new Date(record.createdAt).toISOString(),
    expires_at: expiresAt === undefined ? undefined : new Date(expiresAt).toISOString(),
    grants: grants.map(toGrantShape),
    other_grants: grants.length < record.grants.length ? true : undefined,
  };
}

function stateOf({ revokedAt, expiresAt }: CredentialRecord, now: number): string {
  if (revokedAt !== undefined) return 'revoked';
  return expiresAt !== undefined && expiresAt <= now ? 'expired' : 'valid';
}

function readExpiry(seconds: number | undefined, now: number): number | undefined {
  if (seconds === undefined) return undefined;
  requireInteger(seconds, { field: 'expires_in_seconds', minimum: 1, maximum: EXPIRY_SECONDS_MAX });
  return now + seconds * 1000;
}

const NAME_CHARACTERS_MAX = 255;

function requireName(name: string): string {
  if (name.length <= NAME_CHARACTERS_MAX && !INVISIBLE.test(name) && name.trim() !== '') return name;
  const hint = `A name must have 1 to ${NAME_CHARACTERS_MAX} visible characters.`;
  throw invalidInput(`The name ${quoteForMessage(name)} is not valid.`, hint);
}

function notFound(kind: CredentialKind, id: string): ServiceError {
  return new ServiceError('CredentialNotFound', `The ${kind} ${quoteForMessage(id)} was not found.`);
}
