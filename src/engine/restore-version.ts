import { engineCall } from './engine-errors.ts';
import type { OpenTables } from './open-tables.ts';
import type { WriteTarget } from './table-writes.ts';

/** Brings the contents of an earlier version back as a new version, and gives its number. */
export async function restoreVersion(tables: OpenTables, target: WriteTarget, version: number): Promise<number> {
  return tables.useAlone({ ...target, version }, async ({ native }) => {
    await engineCall(async () => native.restore());
    return engineCall(async () => native.version());
  });
}
