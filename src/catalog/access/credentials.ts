import { timingSafeEqual } from 'node:crypto';
import { ServiceError } from '../../errors/service-error.ts';
import type { Grant } from '../../model/access.ts';
import { refuseLastAdministrator, insertGrants, requireDatabases, toGrants } from './grants.ts';
import type { CatalogContext } from '../context.ts';
import { createId } from '../ids.ts';
import type { CredentialRow, GrantRow } from '../schema/rows.ts';
import type { Sql } from '../store.ts';

/** Never with the digest. Times are in milliseconds since 1970. */
export interface CredentialRecord {
  readonly id: string;
  readonly name: string;
  readonly createdAt: number;
  readonly expiresAt?: number;
  readonly revokedAt?: number;
  readonly grants: readonly Grant[];
}

export interface NewCredential {
  readonly name: string;
  readonly digest: string;
  readonly expiresAt?: number;
  readonly grants: readonly Grant[];
  /** Refuses with `DatabaseNotFound` when a grant names a database that is not there. */
  readonly knownDatabasesOnly?: boolean;
}

export interface CredentialPage {
  /** The id of the last one that was seen. */
  readonly after?: string;
  /** Only those with a grant on one of these. */
  readonly databases?: readonly string[];
  readonly limit: number;
}

export interface RevokeRules {
  /** Refuses with `LastAdministrator` when nobody could administer the server any more. */
  readonly keepAdministrator?: boolean;
}

/** API keys, or the clients of the token endpoint: each proves itself by a secret that only its digest is kept of. */
export interface CredentialStore {
  create(credential: NewCredential): Promise<CredentialRecord>;
  /** A revoked one is not found; whether one has expired is for the caller to see. */
  find(id: string): Promise<CredentialRecord | undefined>;
  /** As `find`. */
  findByDigest(digest: string): Promise<CredentialRecord | undefined>;
  /** Whether this is the digest of the secret of one that is not revoked. Takes the same time for every wrong one. */
  matches(id: string, digest: string): Promise<boolean>;
  /** All, the revoked ones too, oldest first. */
  list(page?: CredentialPage): Promise<readonly CredentialRecord[]>;
  /** False when there is no such credential, or it was revoked before. */
  revoke(id: string, rules?: RevokeRules): Promise<boolean>;
}

export interface CredentialKind {
  readonly table: 'api_keys' | 'oauth_clients';
  /** Its grants are kept under this and its id, among those of all callers. */
  readonly prefix: 'key:' | 'client:';
}

export function createCredentialStore(
  { read, write, caches, now }: CatalogContext,
  kind: CredentialKind,
): CredentialStore {
  const byDigest = caches.create<CredentialRecord>();
  const byId = caches.create<CredentialRecord>();
  return {
    async create(credential) {
      return write(async (sql) => insertCredential(sql, kind, credential, now()));
    },

    async find(id) {
      return byId.find(id, async () => read(async (sql) => findCredential(sql, kind, { column: 'id', value: id })));
    },

    async findByDigest(digest) {
      const wanted = { column: 'digest', value: digest } as const;
      return byDigest.find(digest, async () => read(async (sql) => findCredential(sql, kind, wanted)));
    },

    async matches(id, digest) {
      const row = await read(async (sql) => findRow(sql, kind, { column: 'id', value: id }));
      if (row === undefined) return false;
      const [kept, given] = [Buffer.from(row.digest), Buffer.from(digest)];
      return kept.length === given.length && timingSafeEqual(kept, given);
    },

    async list(page) {
      return read(async (sql) => listCredentials(sql, kind, page));
    },

    async revoke(id, rules) {
      return write(async (sql) => {
        if (rules?.keepAdministrator === true) await refuseLastAdministrator(sql, kind.prefix + id, now());
        return revokeCredential(sql, kind, id, now());
      });
    },
  };
}

async function insertCredential(
  sql: Sql,
  { table, prefix }: CredentialKind,
  credential: NewCredential,
  createdAt: number,
): Promise<CredentialRecord> {
  const row = {
    id: createId(createdAt),
    name: credential.name,
    digest: credential.digest,
    created_at: createdAt,
    expires_at: credential.expiresAt ?? null,
    revoked_at: null,
  };
  if (credential.knownDatabasesOnly === true) await requireDatabases(sql, credential.grants);
  const result = await sql
    .insertInto(table)
    .values(row)
    .onConflict((conflict) => conflict.column('digest').doNothing())
    .executeTakeFirst();
  if (result.numInsertedOrUpdatedRows !== 1n) throw new ServiceError('InvalidInput', 'This key is known already.');
  await insertGrants(sql, prefix + row.id, credential.grants);
  return toRecord(row, credential.grants);
}

interface Wanted {
  readonly column: 'id' | 'digest';
  readonly value: string;
}

async function findRow(sql: Sql, { table }: CredentialKind, wanted: Wanted): Promise<CredentialRow | undefined> {
  return sql
    .selectFrom(table)
    .selectAll()
    .where(wanted.column, '=', wanted.value)
    .where('revoked_at', 'is', null)
    .executeTakeFirst();
}

async function findCredential(sql: Sql, kind: CredentialKind, wanted: Wanted): Promise<CredentialRecord | undefined> {
  const row = await findRow(sql, kind, wanted);
  if (row === undefined) return undefined;
  const principal = kind.prefix + row.id;
  const grants = await sql.selectFrom('grants').selectAll().where('principal', '=', principal).execute();
  return toRecord(row, toGrants(grants));
}

/** What one statement asks for at once. */
const PRINCIPALS_MAX = 500;

async function listCredentials(
  sql: Sql,
  kind: CredentialKind,
  page: CredentialPage | undefined,
): Promise<readonly CredentialRecord[]> {
  const rows = await listRows(sql, kind, page);
  const grants = new Map(rows.map((row) => [kind.prefix + row.id, [] as GrantRow[]]));
  const principals = [...grants.keys()];
  for (let at = 0; at < principals.length; at += PRINCIPALS_MAX) {
    const some = principals.slice(at, at + PRINCIPALS_MAX);
    const found = await sql.selectFrom('grants').selectAll().where('principal', 'in', some).execute();
    for (const row of found) grants.get(row.principal)?.push(row);
  }
  return rows.map((row) => toRecord(row, toGrants(grants.get(kind.prefix + row.id) ?? [])));
}

async function listRows(
  sql: Sql,
  { table, prefix }: CredentialKind,
  page: CredentialPage | undefined,
): Promise<readonly CredentialRow[]> {
  let query = sql.selectFrom(table).selectAll();
  const { after, databases } = page ?? {};
  if (after !== undefined) query = query.where('id', '>', after);
  if (databases !== undefined) {
    if (databases.length === 0) return [];
    query = query.where('id', 'in', (inner) =>
      inner
        .selectFrom('grants')
        .select((grant) => grant.fn<string>('substr', ['principal', grant.val(prefix.length + 1)]).as('id'))
        .where('principal', '>=', prefix)
        .where('principal', '<', prefix.replace(':', ';'))
        .where('database_name', 'in', databases),
    );
  }
  if (page !== undefined) query = query.limit(page.limit);
  return query.orderBy('id').execute();
}

async function revokeCredential(sql: Sql, { table }: CredentialKind, id: string, revokedAt: number): Promise<boolean> {
  const result = await sql
    .updateTable(table)
    .set({ revoked_at: revokedAt })
    .where('id', '=', id)
    .where('revoked_at', 'is', null)
    .executeTakeFirst();
  return result.numUpdatedRows > 0n;
}

function toRecord(row: CredentialRow, grants: readonly Grant[]): CredentialRecord {
  return {
    id: row.id,
    name: row.name,
    createdAt: row.created_at,
    ...(row.expires_at === null ? {} : { expiresAt: row.expires_at }),
    ...(row.revoked_at === null ? {} : { revokedAt: row.revoked_at }),
    grants,
  };
}
