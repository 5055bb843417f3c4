import { ServiceError, invalidInput } from '../../errors/service-error.ts';
import { ROLES } from '../../model/access.ts';
import type { Grant } from '../../model/access.ts';
import { quoteForMessage } from '../../model/identifier.ts';
import type { NamespacePath } from '../../model/identifier.ts';
import { databaseNotFound } from '../../model/refusals.ts';
import type { CatalogContext } from '../context.ts';
import { fromPathText, rangeFrom, toPathText } from '../path-text.ts';
import type { GrantRow } from '../schema/rows.ts';
import type { Sql } from '../store.ts';

/** A principal is the id of a caller, such as `key:…`, `client:…` or `token:<issuer>#<subject>`. */
export interface GivenGrant extends Grant {
  readonly principal: string;
}

interface GrantPage {
  readonly principal?: string | undefined;
  /** Only grants on these databases; if absent, all grants, including those on all databases. */
  readonly databases?: readonly string[] | undefined;
  /** Only grants at this path or below it. */
  readonly under?: NamespacePath;
  readonly after?: GivenGrant | undefined;
  readonly limit: number;
}

export function createGrantStore({ read, write, caches, now }: CatalogContext) {
  const cache = caches.create<readonly Grant[]>();
  return {
    async of(principal: string): Promise<readonly Grant[]> {
      const grants = await cache.find(principal, async () => read(async (sql) => readGrants(sql, principal)));
      return grants ?? [];
    },

    /** Idempotent. A principal that already has more than `grantsMax` keeps them. */
    async add(principal: string, grant: Grant, grantsMax = Infinity): Promise<void> {
      await write(async (sql) => {
        await requireDatabases(sql, [grant]);
        await requireRoomFor(sql, toGrantRow(principal, grant), grantsMax);
        await insertGrants(sql, principal, [grant]);
      });
    },

    /** False if there was no such grant. */
    async remove(principal: string, grant: Grant): Promise<boolean> {
      return write(async (sql) => {
        if (isAdministration(grant)) await refuseLastAdministrator(sql, principal, now());
        let query = sql.deleteFrom('grants');
        const row = toGrantRow(principal, grant);
        for (const column of KEY) query = query.where(column, '=', row[column]);
        return (await query.executeTakeFirst()).numDeletedRows > 0n;
      });
    },

    /** Ordered by principal, database, path and role. */
    async list(page: GrantPage): Promise<readonly GivenGrant[]> {
      const rows = await read(async (sql) => listRows(sql, page));
      return rows.flatMap((row) => toGrants([row]).map((grant) => ({ ...grant, principal: row.principal })));
    },
  };
}

/** Runs in the transaction of the grant: no grant outlives its database. */
export async function requireDatabases(sql: Sql, grants: readonly Grant[]): Promise<void> {
  for (const { database } of grants) {
    if (database === undefined) continue;
    const row = await sql.selectFrom('databases').select('id').where('name', '=', database).executeTakeFirst();
    if (row === undefined) throw databaseNotFound(database);
  }
}

async function requireRoomFor(sql: Sql, grant: GrantRow, grantsMax: number): Promise<void> {
  const { principal } = grant;
  const rows = await sql.selectFrom('grants').select(KEY).where('principal', '=', principal).execute();
  const isKnown = rows.some((row) => KEY.every((column) => row[column] === grant[column]));
  if (isKnown || rows.length < grantsMax) return;
  throw invalidInput(
    `The principal ${quoteForMessage(principal)} cannot have more than ${grantsMax} grants.`,
    'Grant the role on a namespace that contains the others, or remove grants first.',
  );
}

export async function insertGrants(sql: Sql, principal: string, grants: readonly Grant[]): Promise<void> {
  if (grants.length === 0) return;
  await sql
    .insertInto('grants')
    .values(grants.map((grant) => toGrantRow(principal, grant)))
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

export async function readGrants(sql: Sql, principal: string): Promise<readonly Grant[]> {
  const rows = sql.selectFrom('grants').selectAll().where('principal', '=', principal);
  return toGrants(await rows.orderBy('databaseName').orderBy('path').orderBy('role').execute());
}

/** Ignores roles that this release does not know. */
export function toGrants(rows: readonly GrantRow[]): readonly Grant[] {
  return rows
    .filter((row) => ROLES.includes(row.role))
    .map((row) => ({
      role: row.role,
      database: row.databaseName === '' ? undefined : row.databaseName,
      path: fromPathText(row.path),
    }));
}

function isAdministration({ role, database, path }: Grant): boolean {
  return role === 'admin' && database === undefined && path.length === 0;
}

const KEY = ['principal', 'databaseName', 'path', 'role'] as const;

async function listRows(sql: Sql, page: GrantPage): Promise<readonly GrantRow[]> {
  const { principal, databases, under = [], after, limit } = page;
  let query = sql.selectFrom('grants').selectAll();
  if (principal !== undefined) query = query.where('principal', '=', principal);
  if (databases !== undefined) {
    if (databases.length === 0) return [];
    query = query.where('databaseName', 'in', databases);
  }
  const range = rangeFrom(under);
  if (range !== undefined) query = query.where('path', '>=', range.from).where('path', '<', range.before);
  if (after !== undefined) {
    const last = toGrantRow(after.principal, after);
    query = query.where((where) =>
      where(where.refTuple(...KEY), '>', where.tuple(last.principal, last.databaseName, last.path, last.role)),
    );
  }
  for (const column of KEY) query = query.orderBy(column);
  return query.limit(limit).execute();
}

function toGrantRow(principal: string, grant: Grant): GrantRow {
  // Stored, an empty name means all databases, so a request must not send it.
  if (grant.database === '') throw invalidInput('The grant has an empty database name.');
  return { principal, databaseName: grant.database ?? '', path: toPathText(grant.path), role: grant.role };
}

/**
 * Refuses to remove the last administrator: at least one valid API key must still administer every database, and if
 * this one does not expire, one without expiry. Only keys count: clients need the token endpoint, and other tokens an
 * identity provider.
 */
export async function refuseLastAdministrator(sql: Sql, principal: string, now: number): Promise<void> {
  const administrators = selectAdministrators(sql, now);
  const own = await administrators.where('principal', '=', principal).executeTakeFirst();
  if (own === undefined) return;
  const others = administrators.where('principal', '!=', principal);
  const next = await others
    .orderBy('expiresAt', (order) => order.asc().nullsFirst())
    .limit(1)
    .executeTakeFirst();
  if (next === undefined) {
    throw new ServiceError('LastAdministrator', 'This is the last key that can administer the server.', {
      hint: 'Create another API key with the role admin on all databases first.',
    });
  }
  if (own.expiresAt === null && next.expiresAt !== null) {
    throw new ServiceError('LastAdministrator', 'Every other key that can administer the server expires.', {
      hint: 'Create an API key with the role admin on all databases and without an expiry first.',
    });
  }
}

function selectAdministrators(sql: Sql, now: number) {
  return sql
    .selectFrom('grants')
    .innerJoin('apiKeys', (join) =>
      join.on((on) => on(on.fn('substr', ['grants.principal', on.val('key:'.length + 1)]), '=', on.ref('apiKeys.id'))),
    )
    .select(['principal', 'expiresAt'])
    .where('principal', '>=', 'key:')
    .where('principal', '<', 'key;')
    .where('databaseName', '=', '')
    .where('path', '=', '')
    .where('role', '=', 'admin')
    .where('revokedAt', 'is', null)
    .where((where) => where.or([where('expiresAt', 'is', null), where('expiresAt', '>', now)]));
}
