import { findLocalFolder } from './local/folders.ts';
import { DISK, countSyncs } from './sync/file-sync.ts';
import type { FileSync } from './sync/file-sync.ts';
import { createLocalStorage } from './local/local-storage.ts';
import { OBJECT_STORAGE } from './object-storage.ts';
import type { Storage } from './storage.ts';
import { TableSync } from './sync/table-sync.ts';
import type { SyncMode } from './sync/table-sync.ts';

export type { FileSync } from './sync/file-sync.ts';
export type { Storage } from './storage.ts';
export type { SyncMode } from './sync/table-sync.ts';

export interface StorageSettings {
  readonly sync: SyncMode;
  /** How many tables are watched for dirty paths at once. */
  readonly watchedTablesMax: number;
  /** The disk that commits are synced to, unless a test brings its own. */
  readonly disk?: FileSync;
  /** How long a sync is tried again while the process lacks file handles or memory. */
  readonly shortageMilliseconds?: number;
}

const SHORTAGE_MILLISECONDS = 3000;

/** All storage roots of the service. */
export interface Storages {
  /** Cheap: roots share their sync state, and hold nothing of their own. */
  of(root: string): Storage;
  /** Files and folders that were synced since the start. */
  syncCount(): number;
  close(): void;
}

export function openStorages(settings: StorageSettings): Storages {
  const { sync: mode, watchedTablesMax: tablesMax, disk = DISK } = settings;
  const { shortageMilliseconds = SHORTAGE_MILLISECONDS } = settings;
  const counted = countSyncs(disk);
  const tableSync = new TableSync({ mode, disk: counted, tablesMax, shortageMilliseconds });
  return {
    of(root) {
      const folder = findLocalFolder(root);
      return folder === undefined ? OBJECT_STORAGE : createLocalStorage(folder, tableSync);
    },
    syncCount: () => counted.count,
    close: () => tableSync.close(),
  };
}
