import type { CredentialRecord, CredentialStore } from '../../catalog/catalog.ts';
import { ServiceError } from '../../errors/service-error.ts';
import { requireInteger } from '../../guard/numbers.ts';
import { administeredDatabases, administersEverything, mayChange, mayGive } from '../../model/access.ts';
import type { Caller } from '../../model/access.ts';
import { quoteForMessage } from '../../model/identifier.ts';
import { notPermitted } from '../../model/refusals.ts';
import type { CreateCredentialBody, Credential, PageBody } from '../../wire/access.ts';
import type { Services } from '../services.ts';
import { readGrant, requireGivable, showGrant } from './read-grant.ts';
import { readPageSize } from '../shared/pages.ts';

/** Keys and clients differ in their secrets; the rules about them are the same. */
export type CredentialPrefix = 'key' | 'client';

export interface Made {
  readonly record: CredentialRecord;
  readonly shown: Credential;
}

/** Ten years: past that nobody remembers what a credential was for. */
const LIFE_SECONDS_MAX = 10 * 366 * 24 * 60 * 60;

export async function createCredential(
  store: CredentialStore,
  prefix: CredentialPrefix,
  given: { readonly body: CreateCredentialBody; readonly digest: string; readonly caller: Caller },
  services: Services,
): Promise<Made> {
  const { body, digest, caller } = given;
  const { grantsMax } = services.limits.access;
  requireInteger(body.grants.length, { field: 'The number of grants', minimum: 1, maximum: grantsMax });
  const grants = body.grants.map(readGrant);
  for (const grant of grants) requireGivable(caller, grant);
  const life = body.expires_in_seconds;
  const expiry = life === undefined ? {} : { expiresAt: services.now() + readLife(life) * 1000 };
  const name = requireName(body.name);
  const record = await store.create({ name, digest, grants, ...expiry, knownDatabasesOnly: true });
  const principal = `${prefix}:${record.id}`;
  services.telemetry.emit({ kind: 'access-changed', caller: caller.id, action: `create_${prefix}`, principal });
  return { record, shown: showCredential(prefix, record, caller, services.now()) };
}

export async function listCredentials(
  store: CredentialStore,
  prefix: CredentialPrefix,
  given: { readonly body: PageBody; readonly caller: Caller },
  services: Services,
): Promise<{ readonly shown: Credential[]; readonly page_token?: string }> {
  const limit = readPageSize(given.body.limit, services.limits.http.pageSizeMax);
  const { found, hasMore } = await findVisible(store, given.caller, { after: given.body.page_token, limit });
  const last = found.at(-1);
  return {
    shown: found.map((record) => showCredential(prefix, record, given.caller, services.now())),
    ...(hasMore && last !== undefined ? { page_token: last.id } : {}),
  };
}

export async function revokeCredential(
  store: CredentialStore,
  prefix: CredentialPrefix,
  given: { readonly id: string; readonly caller: Caller },
  services: Services,
): Promise<void> {
  const { id, caller } = given;
  await requireChangeable(store, prefix, given);
  const isRevoked = await store.revoke(id, { keepAdministrator: true });
  if (!isRevoked) throw notFound(prefix, id);
  const principal = `${prefix}:${id}`;
  services.telemetry.emit({ kind: 'access-changed', caller: caller.id, action: `revoke_${prefix}`, principal });
}

/** Nothing of a credential's is told to a caller who administers none of what it is for. */
export async function requireChangeable(
  store: CredentialStore,
  prefix: CredentialPrefix,
  { id, caller }: { readonly id: string; readonly caller: Caller },
): Promise<void> {
  const record = await store.find(id);
  if (record === undefined || !isShown(record, caller)) throw notFound(prefix, id);
  if (!mayChange(caller, record.grants)) throw notPermitted('administer');
}

interface Window {
  readonly after: string | undefined;
  readonly limit: number;
}

/** How many the catalog is asked for at once, while looking for those that the caller may see. */
const LOOK_AHEAD_MIN = 100;

async function findVisible(
  store: CredentialStore,
  caller: Caller,
  { after: start, limit }: Window,
): Promise<{ readonly found: readonly CredentialRecord[]; readonly hasMore: boolean }> {
  const databases = administeredDatabases(caller);
  const size = Math.max(limit + 1, LOOK_AHEAD_MIN);
  const found: CredentialRecord[] = [];
  for (let after = start; found.length <= limit;) {
    const page = await store.list({
      limit: size,
      ...(after === undefined ? {} : { after }),
      ...(databases === undefined ? {} : { databases }),
    });
    found.push(...page.filter((record) => isShown(record, caller)));
    after = page.at(-1)?.id;
    if (page.length < size) break;
  }
  return { found: found.slice(0, limit), hasMore: found.length > limit };
}

function isShown({ grants }: CredentialRecord, caller: Caller): boolean {
  return administersEverything(caller) || grants.some((grant) => mayGive(caller, grant));
}

function showCredential(prefix: CredentialPrefix, record: CredentialRecord, caller: Caller, now: number): Credential {
  const grants = record.grants.filter((grant) => mayGive(caller, grant));
  return {
    id: record.id,
    principal: `${prefix}:${record.id}`,
    name: record.name,
    state: stateOf(record, now),
    created_at: new Date(record.createdAt).toISOString(),
    ...(record.expiresAt === undefined ? {} : { expires_at: new Date(record.expiresAt).toISOString() }),
    grants: grants.map(showGrant),
    ...(grants.length < record.grants.length ? { other_grants: true } : {}),
  };
}

function stateOf({ revokedAt, expiresAt }: CredentialRecord, now: number): string {
  if (revokedAt !== undefined) return 'revoked';
  return expiresAt !== undefined && expiresAt <= now ? 'expired' : 'valid';
}

function readLife(seconds: number): number {
  return requireInteger(seconds, { field: 'expires_in_seconds', minimum: 1, maximum: LIFE_SECONDS_MAX });
}

const NAME_CHARACTERS_MAX = 255;

function requireName(name: string): string {
  const isPlain = name.length <= NAME_CHARACTERS_MAX && !/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u.test(name);
  if (isPlain && name.trim() !== '') return name;
  throw new ServiceError('InvalidInput', `The name ${quoteForMessage(name)} is not usable.`, {
    hint: `A name has 1 to ${NAME_CHARACTERS_MAX} visible characters.`,
  });
}

function notFound(prefix: CredentialPrefix, id: string): ServiceError {
  return new ServiceError('CredentialNotFound', `The ${prefix} ${quoteForMessage(id)} was not found.`);
}
