import type { Place, TableState } from '../model/table.ts';
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
  measure(place: Place, version: TableVersion): Promise<number | undefined>;
  /** Removes the records of versions. The latest, and what a tag or a branch needs, is refused. */
  remove(target: WriteTarget, ranges: readonly VersionRange[]): Promise<RemovedVersions>;
  stats(state: TableState): Promise<TableStatistics>;
  listTags(place: Place, window: NameWindow): Promise<readonly Tag[]>;
  requireTag(place: Place, name: string): Promise<Tag>;
  createTag(target: WriteTarget, change: TagChange): Promise<void>;
  updateTag(target: WriteTarget, change: TagChange): Promise<void>;
  removeTag(place: Place, name: string): Promise<Tag>;
  listBranches(place: Place, window: NameWindow): Promise<readonly Branch[]>;
  createBranch(source: TableState, name: string): Promise<number>;
  removeBranch(place: Place, name: string): Promise<number>;
}

export function createVersionsEngine(parts: EngineParts): VersionsEngine {
  const { tables } = parts;
  return {
    list: async (state) => listVersions(tables, state),
    require: async (state) => requireVersion(tables, state),
    measure: async (place, { manifestPath }) => parts.storages.of(place.root).measureManifest(manifestPath),
    remove: async (target, ranges) => removeVersions(parts, target, ranges),
    stats: async (state) => tables.use(state, async ({ native }) => engineCall(async () => native.stats())),
    listTags: async (place, window) => listTags(tables, place, window),
    requireTag: async (place, name) => requireTag(tables, place, name),
    createTag: async (target, change) => createTag(tables, target, change),
    updateTag: async (target, change) => updateTag(tables, target, change),
    removeTag: async (place, name) => removeTag(tables, place, name),
    listBranches: async (place, window) => listBranches(tables, place, window),
    createBranch: async (source, name) => createBranch(tables, source, name),
    removeBranch: async (place, name) => removeBranch(tables, place, name),
  };
}
