import { sql as statement } from 'kysely';
import type { TableSummary } from '../../model/table.ts';
import type { CatalogContext } from '../context.ts';
import type { Sql } from '../store.ts';
import { SUMMARY_COLUMNS, toTableSummary } from './table-rows.ts';

/** The size of a table's latest version. */
export interface StoredSize {
  readonly rows: number;
  readonly bytes: number;
}

/** The total of all tables of a database, or of those that one key or client created. */
export interface Usage extends StoredSize {
  readonly tables: number;
  /** Tables whose sizes are not included yet. */
  readonly unmeasured: number;
}

interface SizePage {
  readonly after?: string | undefined;
  readonly unmeasuredOnly: boolean;
  readonly limit: number;
}

/** Sizes of tables, as needed for quotas: updated after each write to a table with a size quota. */
export function createSizeStore({ read, group, roots }: CatalogContext) {
  return {
    /** Excludes tables that are being created. */
    async usage(subject: string): Promise<Usage> {
      return read(async (sql) => {
        const { rows } = await statement<Usage>`
          select count(*) as tables, cast(coalesce(sum(stored_rows), 0) as bigint) as "rows",
            cast(coalesce(sum(stored_bytes), 0) as bigint) as "bytes",
            cast(coalesce(sum(case when stored_rows is null and state = 'published' then 1 else 0 end), 0) as bigint)
              as unmeasured
          from tables where state <> 'reserved' and ${ownedBy(subject)}`.execute(sql);
        const [usage] = rows;
        if (usage === undefined) throw new Error('A sum has no row.');
        return usage;
      });
    },

    /** Ordered by id, starting after `after`. */
    async list(subject: string, { after = '', unmeasuredOnly, limit }: SizePage): Promise<readonly TableSummary[]> {
      const rows = await read(async (sql) =>
        sql
          .selectFrom('tables')
          .select(SUMMARY_COLUMNS)
          .where(ownedBy(subject))
          .where('id', '>', after)
          .where('state', '=', 'published')
          .$if(unmeasuredOnly, (tables) => tables.where('storedRows', 'is', null))
          .orderBy('id')
          .limit(limit)
          .execute(),
      );
      return rows.map((row) => toTableSummary(row, roots));
    },

    async find(tableId: string): Promise<StoredSize | undefined> {
      const row = await read(async (sql) =>
        sql
          .selectFrom('tables')
          .select(['storedRows', 'storedBytes'])
          .where('id', '=', tableId)
          .where('storedRows', 'is not', null)
          .executeTakeFirst(),
      );
      return row && { rows: row.storedRows ?? 0, bytes: row.storedBytes ?? 0 };
    },

    /**
     * Stores the size of this version, unless a later one is recorded, whose writer sets its size. After a power loss,
     * an earlier size may remain until the next write.
     */
    async set(tableId: string, { rows: storedRows, bytes: storedBytes }: StoredSize, version: number): Promise<void> {
      await group.run({
        run: async (sql) => {
          const table = sql.updateTable('tables').set({ storedRows, storedBytes }).where('id', '=', tableId);
          const later = sql.selectFrom('heads').select('version').where('tableId', '=', tableId);
          const isLatest = table.where((where) => where.not(where.exists(later.where('version', '>', version))));
          await isLatest.execute();
        },
        changesLookups: false,
        isDurable: false,
      });
    },
  };
}

/** The sizes of its tables are measured again. */
export async function forgetSizes(sql: Sql, subject: string): Promise<void> {
  await sql.updateTable('tables').set({ storedRows: null, storedBytes: null }).where(ownedBy(subject)).execute();
}

function ownedBy(subject: string) {
  const database = subject.startsWith('database:') ? subject.slice('database:'.length) : undefined;
  return database === undefined
    ? statement<boolean>`created_by = ${subject}`
    : statement<boolean>`database_id = ${database}`;
}
