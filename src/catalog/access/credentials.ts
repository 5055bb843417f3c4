import { timingSafeEqual } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { invalidInput } from '../../errors/service-error.ts';
import type { Grant, Quota } from '../../model/access.ts';
import type { CatalogContext } from '../context.ts';
import { createId } from '../ids.ts';
import type { CredentialRow, GrantRow } from '../schema/rows.ts';
import { eachPart } from '../store.ts';
import type { Sql } from '../store.ts';
import { readQuota } from './quotas.ts';
import { insertGrants, readGrants, refuseLastAdministrator, requireDatabases, toGrants } from './grants.ts';

/** Never contains the digest. Times are in milliseconds since 1970. */
export interface CredentialRecord {
  readonly id: string;
  readonly name: string;
  readonly createdAt: number;
  readonly expiresAt?: number;
  readonly revokedAt?: number;
  readonly grants: readonly Grant[];
  /** Absent in lists. */
  readonly quota?: Quota;
}

interface NewCredential extends Pick<CredentialRecord, 'name' | 'grants'> {
  readonly expiresAt?: number | undefined;
  readonly digest: string;
  /** Refuses with `DatabaseNotFound` if a grant names a missing database. */
  readonly knownDatabasesOnly?: boolean;
}

interface CredentialPage {
  /** The id of the last credential of the previous page. */
  readonly after?: string | undefined;
  /** Only credentials with a grant on one of these. */
  readonly databases?: readonly string[] | undefined;
  readonly limit?: number;
}

interface CredentialKind {
  readonly table: 'apiKeys' | 'oauthClients';
  /** Precedes the id in the principals of grants. */
  readonly prefix: 'key:' | 'client:';
}

export type CredentialStore = ReturnType<typeof createCredentialStore>;

/** API keys, or the clients of the token endpoint. Only digests of their secrets are stored. */
export function createCredentialStore({ read, write, caches, now }: CatalogContext, kind: CredentialKind) {
  const byDigest = caches.create<CredentialRecord>();
  const byId = caches.create<CredentialRecord>();
  const load = async (column: 'id' | 'digest', value: string): Promise<CredentialRecord | undefined> =>
    read(async (sql) => {
      const row = await selectValid(sql, kind).where(column, '=', value).executeTakeFirst();
      if (row === undefined) return undefined;
      const record = toRecord(row, await readGrants(sql, kind.prefix + row.id));
      const quota = await readQuota(sql, kind.prefix + row.id);
      return quota === undefined ? record : { ...record, quota };
    });
  return {
    async create(credential: NewCredential): Promise<CredentialRecord> {
      return write(async (sql) => insertCredential(sql, kind, { ...credential, createdAt: now() }));
    },

    /**
     * Creates it unless its digest exists; false if that credential was revoked. Of several servers starting at once,
     * one creates it.
     */
    async ensure(credential: NewCredential): Promise<boolean> {
      const find = async (sql: Sql) =>
        sql.selectFrom(kind.table).select('revokedAt').where('digest', '=', credential.digest).executeTakeFirst();
      const findOrInsert = async (sql: Sql) =>
        (await find(sql)) ?? insertCredential(sql, kind, { ...credential, createdAt: now() });
      // Read first, because every write makes all processes repeat their lookups.
      const { revokedAt } = (await read(find)) ?? (await write(findOrInsert));
      return (revokedAt ?? null) === null;
    },

    /**
     * Creates it unless there are others, even revoked ones. Returns true for one of several servers starting at once.
     */
    async createFirst(credential: NewCredential): Promise<boolean> {
      return write(async (sql) => {
        const other = await sql.selectFrom(kind.table).select('id').executeTakeFirst();
        if (other !== undefined) return false;
        await insertCredential(sql, kind, { ...credential, createdAt: now() });
        return true;
      });
    },

    /** Excludes revoked credentials; the caller checks whether it has expired. */
    async find(id: string): Promise<CredentialRecord | undefined> {
      return byId.find(id, async () => load('id', id));
    },

    async findByDigest(digest: string): Promise<CredentialRecord | undefined> {
      return byDigest.find(digest, async () => load('digest', digest));
    },

    /** Whether this is the digest of a secret that is not revoked. Takes the same time for every wrong digest. */
    async matches(id: string, digest: string): Promise<boolean> {
      const row = await read(async (sql) => selectValid(sql, kind).where('id', '=', id).executeTakeFirst());
      if (row === undefined) return false;
      const [stored, given] = [Buffer.from(row.digest), Buffer.from(digest)];
      return stored.length === given.length && timingSafeEqual(stored, given);
    },

    /** All credentials, including revoked ones, oldest first. */
    async list(page: CredentialPage = {}): Promise<readonly CredentialRecord[]> {
      return read(async (sql) => listCredentials(sql, kind, page));
    },

    /** Names by id, including revoked ones. */
    async names(ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
      return read(async (sql) => {
        const found = new Map<string, string>();
        await eachPart(ids, async (part) => {
          const rows = await sql.selectFrom(kind.table).select(['id', 'name']).where('id', 'in', part).execute();
          for (const { id, name } of rows) found.set(id, name);
        });
        return found;
      });
    },

    /** False if there is no such credential, or it was already revoked. */
    async revoke(id: string): Promise<boolean> {
      return write(async (sql) => {
        await refuseLastAdministrator(sql, kind.prefix + id, now());
        const valid = sql.updateTable(kind.table).where('id', '=', id).where('revokedAt', 'is', null);
        const result = await valid.set({ revokedAt: now() }).executeTakeFirst();
        return result.numUpdatedRows > 0n;
      });
    },
  };
}

interface NamedStores {
  readonly keys: Pick<CredentialStore, 'names'>;
  readonly clients: Pick<CredentialStore, 'names'>;
}

const KNOWN_MAX = 1000;

/**
 * Names of keys and clients, including revoked ones, by caller id (`key:<id>`, `client:<id>`). Other callers have no
 * name. Names never change, so each is read once.
 */
export function createCallerNames({ keys, clients }: NamedStores) {
  const known = new LRUCache<string, string>({ max: KNOWN_MAX });
  return async (callers: readonly string[]): Promise<ReadonlyMap<string, string>> => {
    const named = new Map<string, string>();
    const missing: string[] = [];
    for (const caller of new Set(callers)) {
      const name = known.get(caller);
      if (name === undefined) missing.push(caller);
      else named.set(caller, name);
    }
    for (const [prefix, store] of [
      ['key:', keys],
      ['client:', clients],
    ] as const) {
      const ids = missing.filter((caller) => caller.startsWith(prefix)).map((caller) => caller.slice(prefix.length));
      if (ids.length === 0) continue;
      for (const [id, name] of await store.names(ids)) {
        known.set(prefix + id, name);
        named.set(prefix + id, name);
      }
    }
    return named;
  };
}

function selectValid(sql: Sql, { table }: CredentialKind) {
  return sql.selectFrom(table).selectAll().where('revokedAt', 'is', null);
}

async function insertCredential(
  sql: Sql,
  { table, prefix }: CredentialKind,
  credential: NewCredential & { readonly createdAt: number },
): Promise<CredentialRecord> {
  const { name, digest, grants, createdAt, expiresAt = null } = credential;
  const row = { id: createId(createdAt), name, digest, createdAt, expiresAt, revokedAt: null };
  if (credential.knownDatabasesOnly === true) await requireDatabases(sql, grants);
  const result = await sql
    .insertInto(table)
    .values(row)
    .onConflict((conflict) => conflict.column('digest').doNothing())
    .executeTakeFirst();
  if (result.numInsertedOrUpdatedRows !== 1n) throw invalidInput('This key already exists.');
  await insertGrants(sql, prefix + row.id, grants);
  return toRecord(row, grants);
}

async function listCredentials(
  sql: Sql,
  kind: CredentialKind,
  page: CredentialPage,
): Promise<readonly CredentialRecord[]> {
  const rows = await listRows(sql, kind, page);
  const grants = new Map(rows.map((row) => [kind.prefix + row.id, [] as GrantRow[]]));
  await eachPart([...grants.keys()], async (principals) => {
    const found = await sql.selectFrom('grants').selectAll().where('principal', 'in', principals).execute();
    for (const row of found) grants.get(row.principal)?.push(row);
  });
  return rows.map((row) => toRecord(row, toGrants(grants.get(kind.prefix + row.id) ?? [])));
}

async function listRows(
  sql: Sql,
  { table, prefix }: CredentialKind,
  { after, databases, limit }: CredentialPage,
): Promise<readonly CredentialRow[]> {
  if (databases?.length === 0) return [];
  let query = sql.selectFrom(table).selectAll().orderBy('id');
  if (after !== undefined) query = query.where('id', '>', after);
  if (databases !== undefined) {
    query = query.where('id', 'in', (inner) =>
      inner
        .selectFrom('grants')
        .select((grant) => grant.fn<string>('substr', ['principal', grant.val(prefix.length + 1)]).as('id'))
        .where('principal', '>=', prefix)
        .where('principal', '<', prefix.replace(':', ';'))
        .where('databaseName', 'in', databases),
    );
  }
  if (limit !== undefined) query = query.limit(limit);
  return query.execute();
}

function toRecord(row: CredentialRow, grants: readonly Grant[]): CredentialRecord {
  const { id, name, createdAt, expiresAt, revokedAt } = row;
  const ends = { ...(expiresAt === null ? {} : { expiresAt }), ...(revokedAt === null ? {} : { revokedAt }) };
  return { id, name, createdAt, ...ends, grants };
}
