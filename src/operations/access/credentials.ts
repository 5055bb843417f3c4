import type { Catalog, CredentialRecord, CredentialStore } from '../../catalog/catalog.ts';
import { ServiceError } from '../../errors/service-error.ts';
import { requireInteger } from '../../guard/numbers.ts';
import { administeredDatabases, administersEverything, mayChange, mayGive } from '../../model/access.ts';
import type { Caller } from '../../model/access.ts';
import { quoteForMessage } from '../../model/identifier.ts';
import { notPermitted } from '../../model/refusals.ts';
import type { CreateCredentialBody, Credential, PageBody } from '../../wire/access.ts';
import type { Sent } from '../../wire/shapes.ts';
import type { Services } from '../services.ts';
import { collectVisible, cutPage, readPageSize } from '../shared/pages.ts';
import { readGrant, requireGivable, toGrantShape } from './read-grant.ts';

/** Keys and clients differ in their secrets; the rules about them are the same. */
export type CredentialKind = 'key' | 'client';

/** Ten years: a credential must not outlive the memory of its purpose. */
const EXPIRY_SECONDS_MAX = 10 * 366 * 24 * 60 * 60;

export async function createCredential(
  kind: CredentialKind,
  given: { readonly body: CreateCredentialBody; readonly digest: string; readonly caller: Caller },
  services: Services,
): Promise<Sent<Credential>> {
  const { body, digest, caller } = given;
  const { grantsMax } = services.limits.access;
  requireInteger(body.grants.length, { field: 'The number of grants', minimum: 1, maximum: grantsMax });
  const grants = body.grants.map(readGrant);
  for (const grant of grants) requireGivable(caller, grant);
  const expiry = readExpiry(body.expires_in_seconds, services.now());
  const name = requireName(body.name);
  const store = storeOf(kind, services.catalog);
  const record = await store.create({ name, digest, grants, ...expiry, knownDatabasesOnly: true });
  const principal = `${kind}:${record.id}`;
  services.telemetry.emit({ kind: 'access-changed', caller: caller.id, action: `create_${kind}`, principal });
  return toCredential(kind, record, caller, services.now());
}

export async function listCredentials(
  kind: CredentialKind,
  { body, caller }: { readonly body: PageBody; readonly caller: Caller },
  services: Services,
): Promise<{ readonly credentials: readonly Sent<Credential>[]; readonly page_token: string | undefined }> {
  const limit = readPageSize(body.limit, services);
  const databases = administeredDatabases(caller);
  const filter = databases === undefined ? {} : { databases };
  const store = storeOf(kind, services.catalog);
  const found = await collectVisible<CredentialRecord>(
    { count: limit + 1, pageSize: Math.max(limit + 1, LOOK_AHEAD_MIN) },
    async (last, size) => {
      const after = last?.id ?? body.page_token;
      return store.list({ limit: size, ...filter, ...(after === undefined ? {} : { after }) });
    },
    (record) => isVisible(record, caller),
  );
  const { entries, page_token } = cutPage(found, limit, ({ id }) => id);
  return { credentials: entries.map((record) => toCredential(kind, record, caller, services.now())), page_token };
}

/** How many records are read at once while searching for those that the caller may see. */
const LOOK_AHEAD_MIN = 100;

export async function revokeCredential(
  kind: CredentialKind,
  given: { readonly id: string; readonly caller: Caller },
  services: Services,
): Promise<void> {
  const { id, caller } = given;
  await requireChangeable(kind, given, services.catalog);
  const isRevoked = await storeOf(kind, services.catalog).revoke(id, { keepAdministrator: true });
  if (!isRevoked) throw notFound(kind, id);
  const principal = `${kind}:${id}`;
  services.telemetry.emit({ kind: 'access-changed', caller: caller.id, action: `revoke_${kind}`, principal });
}

/** A credential is hidden from a caller who administers none of what it has grants on. */
export async function requireChangeable(
  kind: CredentialKind,
  { id, caller }: { readonly id: string; readonly caller: Caller },
  catalog: Catalog,
): Promise<void> {
  const record = await storeOf(kind, catalog).find(id);
  if (record === undefined || !isVisible(record, caller)) throw notFound(kind, id);
  if (!mayChange(caller, record.grants)) throw notPermitted('administer');
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

function readExpiry(seconds: number | undefined, now: number): { readonly expiresAt?: number } {
  if (seconds === undefined) return {};
  requireInteger(seconds, { field: 'expires_in_seconds', minimum: 1, maximum: EXPIRY_SECONDS_MAX });
  return { expiresAt: now + seconds * 1000 };
}

const NAME_CHARACTERS_MAX = 255;

function requireName(name: string): string {
  const isPlain = name.length <= NAME_CHARACTERS_MAX && !/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u.test(name);
  if (isPlain && name.trim() !== '') return name;
  throw new ServiceError('InvalidInput', `The name ${quoteForMessage(name)} is not usable.`, {
    hint: `A name has 1 to ${NAME_CHARACTERS_MAX} visible characters.`,
  });
}

function notFound(kind: CredentialKind, id: string): ServiceError {
  return new ServiceError('CredentialNotFound', `The ${kind} ${quoteForMessage(id)} was not found.`);
}
