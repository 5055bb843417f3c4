import { sql as statement } from 'kysely';
import { createId } from './ids.ts';
import type { Sql } from './store.ts';

const GENERATION = 'generation';

/** Stays the same until something changes that a lookup may have found. */
export async function readGeneration(sql: Sql): Promise<string> {
  // Written out, because it runs after every commit.
  const { rows } = await statement<{ value: string }>`select value from settings where name = ${GENERATION}`.execute(
    sql,
  );
  const [row] = rows;
  if (row === undefined) throw new Error('The catalog has no generation.');
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
