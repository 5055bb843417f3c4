import type { TableState } from '../model/table.ts';
import { engineCall } from './engine-errors.ts';
import type { OpenTable } from './open-table.ts';
import type { OpenTables } from './open-tables.ts';

export interface Served<Value> {
  readonly value: Value;
  /** The version that the work saw. */
  readonly version: number;
}

/** Reads a table and tells at which version. The work may be done twice. */
export async function readServed<Value>(
  tables: OpenTables,
  state: TableState,
  work: (table: OpenTable) => Promise<Value>,
): Promise<Served<Value>> {
  const served = await tables.use(state, async (table) => serveOnce(table, work));
  if (served !== undefined) return served;
  // While others write through the shared handle it is not known what the work saw; nobody else moves this one.
  return tables.useAlone(state, async (table) => {
    const version = await readVersion(table);
    return { value: await work(table), version };
  });
}

async function serveOnce<Value>(
  table: OpenTable,
  work: (table: OpenTable) => Promise<Value>,
): Promise<Served<Value> | undefined> {
  const version = await readVersion(table);
  const value = await work(table);
  return version === (await readVersion(table)) ? { value, version } : undefined;
}

async function readVersion({ native }: OpenTable): Promise<number> {
  return engineCall(async () => native.version());
}
