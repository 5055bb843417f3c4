import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import type { SharedRuns } from '../../model/time/shared-runs.ts';
import { DirtyPaths } from './file-sync.ts';
import { findChangedSince } from './folder-tree.ts';
import { FolderWatch } from './folder-watch.ts';

/** The dirty paths of a table, and its running syncs. */
export interface SyncState {
  readonly folder: string;
  watch?: FolderWatch | undefined;
  /** Not watched since then: scan for later changes; 0 = full scan. Not set while the folder is watched. */
  since?: number | undefined;
  /** Taken from the watch, but possibly not durable: only a sync clears them. */
  dirty: DirtyPaths;
  /** The last sync gave up for lack of resources. */
  isOverdue: boolean;
  users: number;
  preparing?: Promise<void> | undefined;
  /** A running sync may have looked before a commit; the next one has not. */
  flushes?: SharedRuns<void>;
}

/** Call it before the write: from now on, new files are noticed. */
export async function prepare(state: SyncState): Promise<void> {
  state.preparing ??= openWatch(state).finally(() => {
    state.preparing = undefined;
  });
  await state.preparing;
}

async function openWatch(state: SyncState): Promise<void> {
  const { watch, folder } = state;
  if (watch !== undefined) {
    if (watch.isUsable) return;
    state.since ??= watch.takenAt;
    watch.close();
  }
  state.watch = await FolderWatch.open(folder);
  if (state.watch === undefined) state.since ??= existsSync(folder) ? Date.now() : 0;
}

/** What changed since the last call. */
export async function takeDirtyPaths(state: SyncState): Promise<DirtyPaths> {
  const { watch, folder } = state;
  // A watch that broke after the write began may have missed some changes.
  const since = state.since ?? (watch?.isBroken === true ? watch.takenAt : undefined);
  const takenAt = watch?.takenAt ?? since;
  state.since = watch?.isUsable === true ? undefined : Date.now();
  try {
    const dirty = (await watch?.take()) ?? new DirtyPaths();
    if (since === undefined) return dirty;
    dirty.add(await findChangedSince(folder, since));
    // The parent folder has an entry for a new table.
    dirty.folders.add(dirname(folder));
    return dirty;
  } catch (error) {
    // The events that the watch had collected are lost: the next sync scans for them.
    state.since = Math.min(since ?? Infinity, takenAt ?? Infinity);
    throw error;
  }
}
