import { ServiceError, invalidInput } from '../../errors/service-error.ts';
import { MAIN_BRANCH } from '../../model/table.ts';
import type { TableLocation, TableState } from '../../model/table.ts';
import type { VersionSize } from '../../storage/storage.ts';
import { engineCall } from '../native/engine-errors.ts';
import type { EngineParts } from '../parts.ts';
import type { OpenTables } from '../tables/open-tables.ts';
import { readVersion } from '../tables/table-handle.ts';
import type { TableRef, WriteTarget } from '../tables/table-handle.ts';
import { createBranches, listBranchForks } from './branches.ts';
import { createTags, listTagTargets } from './tags.ts';
import type { Pin } from './tags.ts';
import { readTable } from './reads.ts';
import { readVersions } from './version-list.ts';

export interface TableVersion {
  readonly version: number;
  readonly committedAtMicroseconds: number;
  /** Statistics of a version that the engine stores, such as its number of rows. */
  readonly metadata: Readonly<Record<string, string>>;
  readonly manifestPath: string;
}

/** Includes the start and excludes the end; without an end, everything before the latest version. */
export interface VersionRange {
  readonly start: number;
  readonly end: number | undefined;
}

/** The history of tables: versions, tags, branches, and statistics of a version. */
export function createVersionsEngine({ tables, storages }: EngineParts) {
  return {
    /** From oldest to latest. */
    list: async (state: TableState) => listVersions(tables, state),
    /** The latest version if the state names none. */
    require: async (state: TableState) => requireVersion(tables, state),
    /** In bytes, if the storage knows it cheaply. */
    measure: async (location: TableLocation, { manifestPath }: TableVersion) =>
      storages.of(location.root).measureManifest(manifestPath),
    remove: async (target: WriteTarget, ranges: readonly VersionRange[]) => removeVersions(tables, target, ranges),
    /** Refuses what `remove` would refuse. Changes nothing. */
    async findRemovable(target: WriteTarget, ranges: readonly VersionRange[]) {
      const { doomed, latest } = await findDoomed(tables, target, ranges);
      return { versions: doomed.map(({ version }) => version), latest };
    },
    /** Removes versions returned by `findRemovable`. Skips those that are gone or needed by now. */
    removeListed: async (target: WriteTarget, versions: readonly number[]) => removeListed(tables, target, versions),
    stats: async (state: TableState) =>
      readTable(tables, state, async ({ native }) => engineCall(async () => native.stats())),
    /** Rows and bytes of the data files. */
    size: async (state: TableState) => readSize(tables, state),
    ...createTags(tables),
    ...createBranches(tables),
  };
}

async function readSize(tables: OpenTables, state: TableState): Promise<VersionSize & { readonly version: number }> {
  const { location, branch } = state;
  return readTable(tables, state, async ({ native }) => {
    const storage = tables.storages.of(location.root);
    const version = await readVersion(native);
    const size = await storage.measureVersion(location, branch, version);
    if (size !== undefined) return { ...size, version };
    // Manifests of older engines have no sizes; the engine then checks each file.
    const { numRows, totalBytes } = await engineCall(async () => native.stats());
    return { rows: numRows, bytes: totalBytes, version };
  });
}

async function listVersions(tables: OpenTables, { location, branch, version: at, recorded }: TableRef) {
  return readTable(
    tables,
    { location, branch, version: at, recorded },
    async ({ native }): Promise<readonly TableVersion[]> => {
      // Read the version first: the list also has later versions while readers are held or a write is not recorded yet.
      const latest = await readVersion(native);
      const found = await readVersions(native);
      const isCountedDown = await engineCall(async () => native.usesV2ManifestPaths());
      const storage = tables.storages.of(location.root);
      return found
        .filter(({ version }) => version <= latest)
        .map(({ version, timestamp, metadata }) => ({
          version,
          committedAtMicroseconds: timestamp,
          metadata,
          manifestPath: storage.manifestPath({ location, branch, version, isCountedDown }),
        }));
    },
  );
}

async function requireVersion(tables: OpenTables, { location, branch, version: asked, recorded }: TableState) {
  const versions = await listVersions(tables, { location, branch, recorded });
  const wanted = asked ?? versions.at(-1)?.version;
  const found = versions.find(({ version }) => version === wanted);
  if (found !== undefined) return found;
  throw new ServiceError('TableVersionNotFound', `The table has no version ${wanted}.`);
}

/**
 * Removes the manifests of versions; the next cleanup sweeps data that no other version uses. The engine can only
 * remove all versions older than some time, so the service removes the manifests itself.
 */
async function removeVersions(tables: OpenTables, target: WriteTarget, ranges: readonly VersionRange[]) {
  const { doomed, latest } = await findDoomed(tables, target, ranges);
  await removeManifests(tables, target, doomed);
  return { versions: doomed.map(({ version }) => version), latest };
}

/** Refuses the latest version, and those that a tag or branch needs. */
async function findDoomed(tables: OpenTables, target: WriteTarget, ranges: readonly VersionRange[]) {
  const storage = tables.storages.of(target.location.root);
  const versions = await listVersions(tables, target);
  const latest = versions.at(-1)?.version ?? 0;
  const doomed = versions.filter(({ version }) =>
    ranges.some(({ start, end = latest }) => version >= start && version < end),
  );
  if (doomed.some(({ version }) => version === latest)) {
    throw invalidInput(
      `Version ${latest} is the latest and cannot be deleted.`,
      'End the range before it, or drop the table.',
    );
  }
  const [pin] = await listPins(tables, target, new Set(doomed.map(({ version }) => version)));
  if (pin !== undefined) throw pinned(pin);
  refuseYoung(doomed, storage.retentionSecondsMin);
  return { doomed, latest };
}

async function removeListed(tables: OpenTables, target: WriteTarget, listed: readonly number[]): Promise<void> {
  const wanted = new Set(listed);
  for (const { version } of await listPins(tables, target, wanted)) wanted.delete(version);
  const versions = await listVersions(tables, target);
  const doomed = versions.slice(0, -1).filter(({ version }) => wanted.has(version));
  await removeManifests(tables, target, doomed);
}

async function removeManifests(tables: OpenTables, { location }: WriteTarget, doomed: readonly TableVersion[]) {
  await tables.storages.of(location.root).removeManifests(doomed.map(({ manifestPath }) => manifestPath));
}

/** A delayed commit of another writer could take the number of a removed version, and would seem to succeed. */
function refuseYoung(doomed: readonly TableVersion[], retentionSecondsMin: number): void {
  const newest = doomed.at(-1);
  if (newest === undefined || retentionSecondsMin === 0) return;
  const ageSeconds = Date.now() / 1000 - newest.committedAtMicroseconds / 1e6;
  if (ageSeconds >= retentionSecondsMin) return;
  throw new ServiceError('InvalidTableState', `Version ${newest.version} is too recent to be deleted.`, {
    hint: `On an object store a version can be deleted ${retentionSecondsMin} s after its commit.`,
  });
}

/** The tags and branches that need one of the versions. */
async function listPins(
  tables: OpenTables,
  target: WriteTarget,
  versions: ReadonlySet<number>,
): Promise<readonly Pin[]> {
  const branch = target.branch === MAIN_BRANCH ? undefined : target.branch;
  const pins = [
    ...(await listTagTargets(tables, target.location)),
    ...(await listBranchForks(tables, target.location)),
  ];
  return pins.filter((pin) => pin.branch === branch && versions.has(pin.version));
}

function pinned({ version, kind, name }: Pin): ServiceError {
  return new ServiceError('InvalidTableState', `Version ${version} is kept by the ${kind} ${name}.`, {
    hint: `Delete the ${kind} first, or leave the version out.`,
  });
}
