import type { Removal } from '../../catalog/catalog.ts';
import type { Services } from '../services.ts';

const AT_ONCE = 4;

/**
 * Removes the data of tables that are gone already. The drop is committed, so that a failure here is none of the caller's:
 * what is left is removed at the next start. Nor does the caller wait for the build of an index, before the
 * end of which they cannot be removed.
 */
export async function removeData(services: Services, removals: readonly Removal[]): Promise<void> {
  const waiting = removals.values();
  const work = async (): Promise<void> => {
    for (const removal of waiting) {
      const isLong = services.writes.background.whenOver(removal.location) !== undefined;
      const removed = removeOne(services, removal);
      if (!isLong) await removed;
    }
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, removals.length) }, work));
}

async function removeOne({ writes, catalog, telemetry }: Services, removal: Removal): Promise<void> {
  try {
    await writes.removeTable(removal.location);
    await catalog.tables.finishRemoval(removal);
  } catch (error) {
    telemetry.emit({ kind: 'background-failed', task: 'removal of a dropped table', cause: error });
  }
}
