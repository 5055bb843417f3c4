import { engineCall } from '../native/engine-errors.ts';
import type { EngineParts } from '../parts.ts';
import type { WriteTarget } from '../tables/table-handle.ts';
import { planOpenRows } from './fill.ts';
import type { FillRequest } from './fill.ts';

type OpenRows = Pick<FillRequest, 'column' | 'where'>;

/** Facts about computed columns; what writes them is in the commits. */
export function createComputedEngine(parts: EngineParts) {
  const { tables } = parts;
  return {
    /** Refuses a backfill that cannot be done. */
    async check(target: WriteTarget, rows: OpenRows): Promise<void> {
      await tables.use(target, async (table) => planOpenRows(parts, table, rows));
    },
    /** How many rows a backfill has to fill, in the version as it is now. */
    async countOpen(target: WriteTarget, rows: OpenRows) {
      return tables.use(target, async (table) => {
        const predicate = await planOpenRows(parts, table, rows);
        const open = await engineCall(async () => table.native.countRows(predicate));
        return { rows: open, version: await table.version() };
      });
    },
  };
}
