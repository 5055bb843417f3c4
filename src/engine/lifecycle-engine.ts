import { ServiceError } from '../errors/service-error.ts';
import type { Place, TableState } from '../model/table.ts';
import { cloneTable } from './clone-table.ts';
import type { EngineParts } from './parts.ts';
import { locateTable } from './table-location.ts';

/** How tables come and go, apart from their rows. */
export interface LifecycleEngine {
  /** Whether there is a table at the place. */
  hasData(place: Place): Promise<boolean>;
  /** Creates the storage root of a new database. */
  ensureRoot(root: string): Promise<void>;
  /** The place that a caller's location means; nothing outside of the root gets through. */
  locate(root: string, location: string): Promise<Place>;
  /** Refuses a version that refers to files outside of the table's directory. */
  refuseForeignFiles(place: Place, version: number): Promise<void>;
  /**
   * Makes a table of its own out of a state of another, at a fresh place, and gives its version. To be called in the queue
   * of the source, so that nothing cleans up what is being copied.
   */
  clone(source: TableState, target: Place): Promise<number>;
  /** Lets go of a table that is not ours to serve any more. */
  close(place: Place): void;
}

export function createLifecycleEngine({ tables, storages }: EngineParts): LifecycleEngine {
  return {
    async hasData(place) {
      try {
        await tables.use({ place, branch: undefined, version: undefined }, async () => {});
        return true;
      } catch (error) {
        if (error instanceof ServiceError && error.kind === 'TableNotFound') return false;
        throw error;
      }
    },

    async ensureRoot(root) {
      await storages.of(root).ensureRoot();
    },

    async locate(root, location) {
      return locateTable(storages, root, location);
    },

    async refuseForeignFiles(place, version) {
      await storages.of(place.root).refuseForeignFiles(place, version);
    },

    async clone(source, target) {
      return cloneTable(tables, source, target);
    },

    close(place) {
      tables.evict(place);
    },
  };
}
