import { ServiceError } from '../errors/service-error.ts';
import type { Grant } from '../model/caller.ts';
import type { CatalogContext } from './context.ts';
import { insertGrants, toGrants } from './grants.ts';
import { createId } from './ids.ts';
import type { GrantRow, KeyRow } from './rows.ts';
import type { Sql } from './store.ts';

/** Never with the digest. Times are in milliseconds since 1970. */
export interface KeyRecord {
  readonly id: string;
  readonly name: string;
  readonly createdAt: number;
  readonly expiresAt?: number;
  readonly revokedAt?: number;
  readonly grants: readonly Grant[];
}

export interface NewKey {
  readonly name: string;
  readonly digest: string;
  readonly expiresAt?: number;
  readonly grants: readonly Grant[];
}

export interface KeyStore {
  create(key: NewKey): Promise<KeyRecord>;
  /** A revoked key is not found; whether one has expired is for the caller to see. */
  findByDigest(digest: string): Promise<KeyRecord | undefined>;
  /** All, the revoked ones too, oldest first. */
  list(): Promise<readonly KeyRecord[]>;
  /** False when there is no such key, or it was revoked before. */
  revoke(id: string): Promise<boolean>;
}

/** A key's grants are kept under this and its id, among those of all callers. */
const PRINCIPAL_PREFIX = 'key:';
const PRINCIPAL_END = 'key;';

export function createKeyStore({ read, write, caches, now }: CatalogContext): KeyStore {
  const cache = caches.create<KeyRecord>();
  return {
    async create(key) {
      return write(async (sql) => insertKey(sql, key, now()));
    },

    async findByDigest(digest) {
      return cache.find(digest, async () => read(async (sql) => findKey(sql, digest)));
    },

    async list() {
      return read(listKeys);
    },

    async revoke(id) {
      return write(async (sql) => revokeKey(sql, id, now()));
    },
  };
}

async function insertKey(sql: Sql, key: NewKey, createdAt: number): Promise<KeyRecord> {
  const row = {
    id: createId(createdAt),
    name: key.name,
    digest: key.digest,
    created_at: createdAt,
    expires_at: key.expiresAt ?? null,
    revoked_at: null,
  };
  const result = await sql
    .insertInto('api_keys')
    .values(row)
    .onConflict((conflict) => conflict.column('digest').doNothing())
    .executeTakeFirst();
  if (result.numInsertedOrUpdatedRows !== 1n) throw new ServiceError('InvalidInput', 'This key is known already.');
  await insertGrants(sql, PRINCIPAL_PREFIX + row.id, key.grants);
  return toKeyRecord(row, key.grants);
}

async function findKey(sql: Sql, digest: string): Promise<KeyRecord | undefined> {
  const row = await sql
    .selectFrom('api_keys')
    .selectAll()
    .where('digest', '=', digest)
    .where('revoked_at', 'is', null)
    .executeTakeFirst();
  if (row === undefined) return undefined;
  const principal = PRINCIPAL_PREFIX + row.id;
  const grants = await sql.selectFrom('grants').selectAll().where('principal', '=', principal).execute();
  return toKeyRecord(row, toGrants(grants));
}

async function listKeys(sql: Sql): Promise<readonly KeyRecord[]> {
  const keys = await sql.selectFrom('api_keys').selectAll().orderBy('id').execute();
  const rows = await sql
    .selectFrom('grants')
    .selectAll()
    .where('principal', '>=', PRINCIPAL_PREFIX)
    .where('principal', '<', PRINCIPAL_END)
    .execute();
  const grants = new Map(keys.map((key) => [PRINCIPAL_PREFIX + key.id, [] as GrantRow[]]));
  for (const row of rows) grants.get(row.principal)?.push(row);
  return keys.map((key) => toKeyRecord(key, toGrants(grants.get(PRINCIPAL_PREFIX + key.id) ?? [])));
}

async function revokeKey(sql: Sql, id: string, revokedAt: number): Promise<boolean> {
  const result = await sql
    .updateTable('api_keys')
    .set({ revoked_at: revokedAt })
    .where('id', '=', id)
    .where('revoked_at', 'is', null)
    .executeTakeFirst();
  return result.numUpdatedRows > 0n;
}

function toKeyRecord(row: KeyRow, grants: readonly Grant[]): KeyRecord {
  return {
    id: row.id,
    name: row.name,
    createdAt: row.created_at,
    ...(row.expires_at === null ? {} : { expiresAt: row.expires_at }),
    ...(row.revoked_at === null ? {} : { revokedAt: row.revoked_at }),
    grants,
  };
}
