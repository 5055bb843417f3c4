import type { TableLocation } from '../model/table.ts';
import { cloneVersion } from './clone/clone-version.ts';
import type { CloneSource } from './clone/clone-version.ts';
import { findLocalFolder } from './local/folders.ts';
import { createLocalStorage } from './local/local-storage.ts';
import { createObjectStorage } from './object/object-storage.ts';
import { ObjectStores } from './object/object-stores.ts';
import type { ObjectSettings } from './object/object-stores.ts';
import type { Storage } from './storage.ts';
import { TableSync } from './sync/table-sync.ts';
import type { SyncSettings } from './sync/table-sync.ts';

export type { ObjectSettings } from './object/object-stores.ts';
export { CredentialVending } from './object/vending/credential-vending.ts';
export type { TableAccess } from './object/vending/credential-vending.ts';
export type { Storage } from './storage.ts';

export interface StorageSettings extends SyncSettings {
  readonly objects?: ObjectSettings;
}

/** Without credentials, for programs that only use folders. */
const NO_OBJECTS: ObjectSettings = {
  options: {},
  environment: {},
  requestSeconds: 30,
  requestAttemptsMax: 5,
  retentionSecondsMin: 600,
};

/** All storage roots of the service. */
export type Storages = ReturnType<typeof openStorages>;

export function openStorages(settings: StorageSettings) {
  const tableSync = new TableSync(settings);
  const objectStores = new ObjectStores(settings.objects ?? NO_OBJECTS);
  return {
    /** Cheap: roots share their sync state. */
    of(root: string): Storage {
      const folder = findLocalFolder(root);
      return folder === undefined ? createObjectStorage(root, objectStores) : createLocalStorage(folder, tableSync);
    },
    /** Creates a table from a state of another, on any root. After a failure nothing is left at the target. */
    async clone(source: CloneSource, target: TableLocation): Promise<void> {
      const [from, to] = [this.of(source.location.root), this.of(target.root)];
      await to.requireRoot();
      await cloneVersion(from.openCloneFolder(source.location), to.openCloneFolder(target), source);
    },
    /** Files and folders synced since the start. */
    syncCount: () => tableSync.syncCount,
    close: () => tableSync.close(),
  };
}
