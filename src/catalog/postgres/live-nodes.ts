import { sql as statement } from 'kysely';
import type { Sql } from '../store.ts';

/** The name of a node that serves this catalog now. The table is missing in a catalog of an older release. */
export async function findLiveNode(sql: Sql): Promise<string | undefined> {
  const { rows: tables } = await statement<{ found: string }>`select to_regclass('nodes') as found
    where to_regclass('nodes') is not null`.execute(sql);
  if (tables.length === 0) return undefined;
  const { rows: nodes } = await statement<{ name: string }>`select name from nodes
    where alive_until > extract(epoch from clock_timestamp()) * 1000 limit 1`.execute(sql);
  return nodes[0]?.name;
}
