import { ServiceError } from '../errors/service-error.ts';
import type { TableLocation, TableState } from '../model/table.ts';
import { cloneTable } from './clone-table.ts';
import type { EngineParts } from './parts.ts';
import { locateTable } from './table-location.ts';

/** How tables come and go, apart from their rows. */
export interface LifecycleEngine {
  /** Whether there is a table at the location. */
  hasData(location: TableLocation): Promise<boolean>;
  /** Creates the storage root of a new database. */
  ensureRoot(root: string): Promise<void>;
  /** The location that a caller's location means; nothing outside of the root gets through. */
  locate(root: string, location: string): Promise<TableLocation>;
  /** Refuses a version that refers to files outside of the table's directory. */
  refuseForeignFiles(location: TableLocation, version: number): Promise<void>;
  /**
   * Makes a table of its own out of a state of another, at a fresh location, and gives its version. To be called in the queue
   * of the source, so that nothing cleans up what is being copied.
   */
  clone(source: TableState, target: TableLocation): Promise<number>;
  /** Lets go of a table that is not ours to serve any more. */
  close(location: TableLocation): void;
}

export function createLifecycleEngine({ tables, storages }: EngineParts): LifecycleEngine {
  return {
    async hasData(location) {
      try {
        await tables.use({ location, branch: undefined, version: undefined }, async () => {});
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

    async refuseForeignFiles(location, version) {
      await storages.of(location.root).refuseForeignFiles(location, version);
    },

    async clone(source, target) {
      return cloneTable(tables, source, target);
    },

    close(location) {
      tables.evict(location);
    },
  };
}
