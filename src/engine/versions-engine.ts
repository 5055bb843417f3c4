import type { TableLocation, TableState } from '../model/table.ts';
import { engineCall } from './engine-errors.ts';
import type { NativeStatistics } from './native.ts';
import type { EngineParts } from './parts.ts';
import { createBranch, listBranches, removeBranch } from './table-branches.ts';
import type { Branch } from './table-branches.ts';
import { createTag, listTags, removeTag, requireTag, updateTag } from './table-tags.ts';
import type { NameWindow, Tag, TagChange } from './table-tags.ts';
import { listVersions, removeVersions, requireVersion } from './table-versions.ts';
import type { RemovedVersions, TableVersion, VersionRange } from './table-versions.ts';
import type { WriteTarget } from './commit-target.ts';

export type TableStatistics = NativeStatistics;

/** The history of tables: versions, tags, branches, and what is told of a table as a whole. */
export interface VersionsEngine {
  /** From the oldest to the latest. */
  list(state: TableState): Promise<readonly TableVersion[]>;
  /** The latest when the state names none. */
  require(state: TableState): Promise<TableVersion>;
  /** In bytes, where the storage tells it cheaply. */
  measure(location: TableLocation, version: TableVersion): Promise<number | undefined>;
  /** Removes the records of versions. The latest, and what a tag or a branch needs, is refused. */
  remove(target: WriteTarget, ranges: readonly VersionRange[]): Promise<RemovedVersions>;
  stats(state: TableState): Promise<TableStatistics>;
  listTags(location: TableLocation, window: NameWindow): Promise<readonly Tag[]>;
  requireTag(location: TableLocation, name: string): Promise<Tag>;
  createTag(target: WriteTarget, change: TagChange): Promise<void>;
  updateTag(target: WriteTarget, change: TagChange): Promise<void>;
  removeTag(location: TableLocation, name: string): Promise<Tag>;
  listBranches(location: TableLocation, window: NameWindow): Promise<readonly Branch[]>;
  createBranch(source: TableState, name: string): Promise<number>;
  removeBranch(location: TableLocation, name: string): Promise<number>;
}

export function createVersionsEngine(parts: EngineParts): VersionsEngine {
  const { tables } = parts;
  return {
    list: async (state) => listVersions(tables, state),
    require: async (state) => requireVersion(tables, state),
    measure: async (location, { manifestPath }) => parts.storages.of(location.root).measureManifest(manifestPath),
    remove: async (target, ranges) => removeVersions(parts, target, ranges),
    stats: async (state) => tables.use(state, async ({ native }) => engineCall(async () => native.stats())),
    listTags: async (location, window) => listTags(tables, location, window),
    requireTag: async (location, name) => requireTag(tables, location, name),
    createTag: async (target, change) => createTag(tables, target, change),
    updateTag: async (target, change) => updateTag(tables, target, change),
    removeTag: async (location, name) => removeTag(tables, location, name),
    listBranches: async (location, window) => listBranches(tables, location, window),
    createBranch: async (source, name) => createBranch(tables, source, name),
    removeBranch: async (location, name) => removeBranch(tables, location, name),
  };
}
