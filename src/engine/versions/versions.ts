import type { TableLocation, TableState } from '../../model/table.ts';
import { engineCall } from '../native/engine-errors.ts';
import type { NativeStatistics, NativeTable } from '../native/native.ts';
import type { EngineParts } from '../parts.ts';
import { createBranch, listBranches, removeBranch, listBranchForks } from './branches.ts';
import type { Branch } from './branches.ts';
import { createTag, listTags, removeTag, requireTag, updateTag, listTagTargets } from './tags.ts';
import type { NameWindow, Tag, TagChange } from './tags.ts';
import type { WriteTarget } from '../commits/commit-target.ts';
import { ServiceError } from '../../errors/service-error.ts';
import { MAIN_BRANCH } from '../../model/table.ts';
import type { OpenTables } from '../tables/open-tables.ts';

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

export interface TableVersion {
  readonly version: number;
  readonly committedAtMicroseconds: number;
  /** Numbers that the engine keeps of a version, such as how many rows it has. */
  readonly metadata: Readonly<Record<string, string>>;
  readonly manifestPath: string;
}

/** From the oldest to the latest that a reader of this state may see. */
export async function listVersions(tables: OpenTables, state: TableState): Promise<readonly TableVersion[]> {
  return tables.use(state, async ({ native }) => {
    // First the version, then the list: while readers are held at a version, the list holds later ones too.
    const latest = await engineCall(async () => native.version());
    const found = await engineCall(async () => native.listVersions());
    const pathOf = await manifestPaths(tables, native, state);
    return found
      .filter(({ version }) => version <= latest)
      .map(({ version, timestamp, metadata }) => ({
        version,
        committedAtMicroseconds: timestamp,
        metadata,
        manifestPath: pathOf(version),
      }));
  });
}

export async function requireVersion(tables: OpenTables, state: TableState): Promise<TableVersion> {
  const versions = await listVersions(tables, { ...state, version: undefined });
  const wanted = state.version ?? versions.at(-1)?.version;
  const found = versions.find(({ version }) => version === wanted);
  if (found !== undefined) return found;
  throw new ServiceError('TableVersionNotFound', `The table has no version ${wanted}.`);
}

/** From the first on, up to but not including the last. */
export interface VersionRange {
  readonly start: number;
  readonly end: number;
}

export interface RemovedVersions {
  readonly count: number;
  readonly latest: number;
}

/**
 * Removes the records of versions, not the data: what no other version uses is swept by the next clean-up. The engine can
 * only remove all that is older than some time, so that the records, which are files of their own, are removed here.
 */
export async function removeVersions(
  { tables, storages }: EngineParts,
  target: WriteTarget,
  ranges: readonly VersionRange[],
): Promise<RemovedVersions> {
  const storage = storages.of(target.location.root);
  storage.requireRemovableManifests();
  const versions = await listVersions(tables, { ...target, version: undefined });
  const latest = versions.at(-1)?.version ?? 0;
  const doomed = versions.filter(({ version }) => ranges.some(({ start, end }) => version >= start && version < end));
  if (doomed.some(({ version }) => version === latest)) throw latestKept(latest);
  await refusePinned(tables, target, new Set(doomed.map(({ version }) => version)));
  await storage.removeManifests(doomed.map(({ manifestPath }) => manifestPath));
  return { count: doomed.length, latest };
}

/** The names of manifests in the folder of the branch, as the table's own naming wants them. */
async function manifestPaths(
  { storages }: OpenTables,
  native: NativeTable,
  { location, branch }: TableState,
): Promise<(version: number) => string> {
  const isCountedDown = await engineCall(async () => native.usesV2ManifestPaths());
  const storage = storages.of(location.root);
  return (version) => storage.manifestPath({ location, branch, version, isCountedDown });
}

async function refusePinned(tables: OpenTables, target: WriteTarget, doomed: ReadonlySet<number>): Promise<void> {
  const branch = target.branch === MAIN_BRANCH ? undefined : target.branch;
  const pins = [
    ...(await listTagTargets(tables, target.location)),
    ...(await listBranchForks(tables, target.location)),
  ];
  const pin = pins.find((each) => each.branch === branch && doomed.has(each.version));
  if (pin === undefined) return;
  throw new ServiceError('InvalidTableState', `Version ${pin.version} is kept by the ${pin.kind} ${pin.name}.`, {
    hint: `Delete the ${pin.kind} first, or leave the version out.`,
  });
}

function latestKept(latest: number): ServiceError {
  return new ServiceError('InvalidInput', `Version ${latest} is the latest and cannot be deleted.`, {
    hint: 'End the range before it, or drop the table.',
  });
}
