import type { CatalogContext } from '../context.ts';

/** Work on a table that the server starts again by itself after its process has ended. */
export interface RepeatedWork {
  readonly tableId: string;
  readonly work: string;
}

/** How often such work has begun since it last ended while its process was running. Without a row: never. */
export function createAttemptStore({ read, append }: CatalogContext) {
  return {
    async find({ tableId, work }: RepeatedWork): Promise<number> {
      const row = await read(async (sql) =>
        sql
          .selectFrom('attempts')
          .select('begun')
          .where('tableId', '=', tableId)
          .where('work', '=', work)
          .executeTakeFirst(),
      );
      return row?.begun ?? 0;
    },

    /** Counts one more attempt after `before` earlier ones. */
    async begin({ tableId, work }: RepeatedWork, before: number): Promise<void> {
      const begun = before + 1;
      await append(async (sql) =>
        sql
          .insertInto('attempts')
          .values({ tableId, work, begun })
          .onConflict((conflict) => conflict.columns(['tableId', 'work']).doUpdateSet({ begun }))
          .execute(),
      );
    },

    /** Uncounts the attempt that `begin` counted with the same `before`, unless another one was counted since. */
    async takeBack({ tableId, work }: RepeatedWork, before: number): Promise<void> {
      await append(async (sql) =>
        sql
          .updateTable('attempts')
          .set({ begun: before })
          .where('tableId', '=', tableId)
          .where('work', '=', work)
          .where('begun', '=', before + 1)
          .execute(),
      );
    },

    async clear({ tableId, work }: RepeatedWork): Promise<void> {
      await append(async (sql) =>
        sql.deleteFrom('attempts').where('tableId', '=', tableId).where('work', '=', work).execute(),
      );
    },
  };
}
