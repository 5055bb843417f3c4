import { createId } from './ids.ts';
import type { Sql } from './store.ts';

const GENERATION = 'generation';

/** Stays the same until something changes that a lookup may have found. */
export async function readGeneration(sql: Sql): Promise<string> {
  const row = await sql.selectFrom('settings').select('value').where('name', '=', GENERATION).executeTakeFirstOrThrow();
  return row.value;
}

export async function renewGeneration(sql: Sql, nowMilliseconds: number): Promise<void> {
  const value = createId(nowMilliseconds);
  await sql
    .insertInto('settings')
    .values({ name: GENERATION, value })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ value }))
    .execute();
}
