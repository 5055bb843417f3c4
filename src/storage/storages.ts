import { findLocalFolder } from './local/folders.ts';
import { createLocalStorage } from './local/local-storage.ts';
import { OBJECT_STORAGE } from './object-storage.ts';
import type { Storage } from './storage.ts';
import { TableSync } from './sync/table-sync.ts';
import type { StorageSettings } from './sync/table-sync.ts';

export type { Storage } from './storage.ts';
export type { StorageSettings } from './sync/table-sync.ts';

/** All storage roots of the service. */
export type Storages = ReturnType<typeof openStorages>;

export function openStorages(settings: StorageSettings) {
  const tableSync = new TableSync(settings);
  return {
    /** Cheap: roots share their sync state. */
    of(root: string): Storage {
      const folder = findLocalFolder(root);
      return folder === undefined ? OBJECT_STORAGE : createLocalStorage(folder, tableSync);
    },
    /** Files and folders that were synced since the start. */
    syncCount: () => tableSync.syncCount,
    close: () => tableSync.close(),
  };
}
