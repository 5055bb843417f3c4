import { ServiceError } from '../../errors/service-error.ts';
import { QUOTA_LIMITS, limitsSize } from '../../model/access.ts';
import type { Quota, QuotaLimit } from '../../model/access.ts';
import type { CatalogContext } from '../context.ts';
import type { QuotaRow } from '../schema/rows.ts';
import type { Sql } from '../store.ts';
import { forgetSizes } from '../tables/sizes.ts';

export interface GivenQuota {
  /** `key:<id>`, `client:<id>` or `database:<id>`. */
  readonly subject: string;
  readonly quota: Quota;
  /** Only for a database. */
  readonly databaseName?: string;
}

interface QuotaPage {
  /** The last subject of the previous page. */
  readonly after?: string | undefined;
  readonly limit: number;
}

const NO_QUOTA: Quota = {};

/** Lookups of keys, clients and databases include their quotas; these are for administrators and owners of tables. */
export function createQuotaStore({ read, write, caches }: CatalogContext) {
  const cache = caches.create<Quota>();
  return {
    /** As of `since`, when a request arrived; by default, as of now. */
    async of(subject: string, since?: number): Promise<Quota> {
      const load = async () => (await read(async (sql) => readQuota(sql, subject))) ?? NO_QUOTA;
      return (await cache.find(subject, load, since)) ?? NO_QUOTA;
    },

    /** Adds limits to those of the subject, or replaces them. Returns all of them. */
    async set(subject: string, limits: Quota): Promise<Quota> {
      return write(async (sql) => {
        await requireSubject(sql, subject);
        const before = await readQuota(sql, subject);
        const quota = { ...before, ...limits };
        const values = toColumns(quota);
        await sql
          .insertInto('quotas')
          .values({ subject, ...values })
          .onConflict((conflict) => conflict.column('subject').doUpdateSet(values))
          .execute();
        // Without a size quota, the sizes of tables are not kept up to date.
        if (limitsSize(quota) && !limitsSize(before)) await forgetSizes(sql, subject);
        return quota;
      });
    },

    /** Removes these limits, or all. Returns the remaining ones; `undefined` if the subject had none of them. */
    async remove(subject: string, limits: readonly QuotaLimit[] = QUOTA_LIMITS): Promise<Quota | undefined> {
      return write(async (sql) => {
        const before = await readQuota(sql, subject);
        if (before === undefined || !limits.some((limit) => before[limit] !== undefined)) return undefined;
        const quota = Object.fromEntries(Object.entries(before).filter(([limit]) => !isOneOf(limits, limit)));
        if (Object.keys(quota).length === 0) await sql.deleteFrom('quotas').where('subject', '=', subject).execute();
        else await sql.updateTable('quotas').set(toColumns(quota)).where('subject', '=', subject).execute();
        return quota;
      });
    },

    /** Ordered by subject. */
    async list({ after = '', limit }: QuotaPage): Promise<readonly GivenQuota[]> {
      const rows = await read(async (sql) =>
        sql
          .selectFrom('quotas')
          .leftJoin('databases', (join) =>
            join.on((on) =>
              on(on.fn('substr', ['quotas.subject', on.val('database:'.length + 1)]), '=', on.ref('databases.id')),
            ),
          )
          .selectAll('quotas')
          .select('databases.name as databaseName')
          .where('subject', '>', after)
          .orderBy('subject')
          .limit(limit)
          .execute(),
      );
      return rows.map(({ databaseName, ...row }) => {
        const { subject } = row;
        return { subject, quota: toQuota(row), ...(databaseName === null ? {} : { databaseName }) };
      });
    },
  };
}

export async function readQuota(sql: Sql, subject: string): Promise<Quota | undefined> {
  const row = await sql.selectFrom('quotas').selectAll().where('subject', '=', subject).executeTakeFirst();
  return row && toQuota(row);
}

function toQuota(row: QuotaRow): Quota {
  const quota: Partial<Record<QuotaLimit, number>> = {};
  for (const limit of QUOTA_LIMITS) {
    const value = row[limit];
    if (value !== null) quota[limit] = value;
  }
  return quota;
}

function toColumns(quota: Quota): Omit<QuotaRow, 'subject'> {
  const { requestsPerSecond, concurrentReads, concurrentWrites, bytes, rows, tables } = quota;
  return {
    requestsPerSecond: requestsPerSecond ?? null,
    concurrentReads: concurrentReads ?? null,
    concurrentWrites: concurrentWrites ?? null,
    bytes: bytes ?? null,
    rows: rows ?? null,
    tables: tables ?? null,
  };
}

function isOneOf(limits: readonly QuotaLimit[], name: string): boolean {
  return limits.some((limit) => limit === name);
}

const TABLES: ReadonlyMap<string, 'apiKeys' | 'oauthClients' | 'databases'> = new Map([
  ['key', 'apiKeys'],
  ['client', 'oauthClients'],
  ['database', 'databases'],
]);

/** Runs in the same transaction: no quota outlives its database. */
async function requireSubject(sql: Sql, subject: string): Promise<void> {
  const [kind = '', id = ''] = subject.split(/:(.*)/s, 2);
  const table = TABLES.get(kind);
  const row = table && (await sql.selectFrom(table).select('id').where('id', '=', id).executeTakeFirst());
  if (row !== undefined) return;
  const isDatabase = kind === 'database';
  throw new ServiceError(
    isDatabase ? 'DatabaseNotFound' : 'CredentialNotFound',
    isDatabase ? 'The database no longer exists.' : 'The key or client does not exist.',
  );
}
