import { sql as statement } from 'kysely';
import type { CatalogContext } from '../context.ts';
import { runHot } from '../journal/hot-statements.ts';
import type { Sql } from '../store.ts';

/**
 * The versions of tables on object stores that readers get. A version is stored here once its write is recorded, so no
 * node shows one that may still be undone, and readers need not ask the store for the latest version.
 */
export function createHeadStore({ read, append, heads }: CatalogContext) {
  return {
    /** `undefined`: readers have to ask the store. */
    async find(tableId: string): Promise<number | undefined> {
      return heads.find(tableId, async () => {
        const row = await read(async (sql) =>
          sql.selectFrom('heads').select('version').where('tableId', '=', tableId).executeTakeFirst(),
        );
        return row?.version;
      });
    },

    /**
     * Accepts a later version found in the store, from maintenance or a program that bypasses the service. While a
     * write is pending, the version may belong to that unrecorded write; then nothing changes.
     */
    async advance(tableId: string, version: number): Promise<void> {
      await append(async (sql) => {
        const pending = sql.selectFrom('journal').select('id').where('tableId', '=', tableId);
        if ((await pending.where('state', '=', 'pending').executeTakeFirst()) !== undefined) return;
        const older = sql.updateTable('heads').where('tableId', '=', tableId).where('version', '<', version);
        await older.set({ version, change: NEXT_CHANGE }).execute();
      });
    },
  };
}

/** Only one transaction at a time changes heads, so each change gets a unique number. */
const NEXT_CHANGE = statement<number>`(select coalesce(max(change), 0) + 1 from heads)`;

/** For a table with new data: earlier versions referred to other data. */
export async function setHead(sql: Sql, tableId: string, version: number): Promise<void> {
  await sql
    .insertInto('heads')
    .values({ tableId, version, change: NEXT_CHANGE })
    .onConflict((conflict) =>
      conflict.column('tableId').doUpdateSet((row) => ({ version, change: row.ref('excluded.change') })),
    )
    .execute();
}

/** Never moves the head back. */
export async function advanceHead(sql: Sql, tableId: string, version: number): Promise<void> {
  await runHot(sql, {
    key: 'advance head',
    compile: () =>
      sql
        .insertInto('heads')
        .values({ tableId, version, change: NEXT_CHANGE })
        .onConflict((conflict) =>
          conflict
            .column('tableId')
            .doUpdateSet((row) => ({ version: row.ref('excluded.version'), change: row.ref('excluded.change') }))
            .whereRef('heads.version', '<', 'excluded.version'),
        )
        .compile(),
    values: [tableId, version],
  });
}

/** For a deleted table. Keeps the row with the newest change, whose number must not be reused. */
export async function deleteHead(sql: Sql, tableId: string): Promise<void> {
  const newest = sql.selectFrom('heads').select(({ fn }) => fn.max('change').as('change'));
  await sql.deleteFrom('heads').where('tableId', '=', tableId).where('change', '<', newest).execute();
}
