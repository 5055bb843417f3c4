import { randomUUID } from 'node:crypto';
import { ServiceError } from '../../errors/service-error.ts';
import { locationUri } from '../../model/table.ts';
import type { TableLocation } from '../../model/table.ts';
import { readLastFragment, readVersionSize } from '../format/commit.ts';
import { branchFolders, branchPath, manifestPath, manifestPathLike, readRef, refPath } from '../format/layout.ts';
import { requireOwnFiles } from '../format/manifest.ts';
import { encodeRestoreTransaction, encodeRestoredManifest, transactionFileName } from '../format/next-manifest.ts';
import { readRowLayout } from '../format/row-layout.ts';
import { commitEmpty, replaceSchemaMetadata } from '../next-commit.ts';
import { locationUsed } from '../storage.ts';
import type { ManifestAddress, Storage } from '../storage.ts';
import { openSubmitted } from '../submitted/submitted-manifest.ts';
import type { SubmissionFiles } from '../submitted/submitted-manifest.ts';
import { joinKey, parseAddress } from './address.ts';
import { createObjectCloneFolder, removePrefix } from './clone-folder.ts';
import { areWhole, findManifest, inspectCommit, readCommitsAfter } from './commit-history.ts';
import type { ObjectStore } from './object-store.ts';
import type { ObjectStores } from './object-stores.ts';
import { openTag } from './tag-file.ts';

/** A root on an object store: acknowledged writes are durable, and every object is written as a whole. */
export function createObjectStorage(root: string, stores: ObjectStores): Storage {
  const base = parseAddress(root);
  const store = stores.open(base);
  const verify = async (): Promise<void> => stores.verify(base);
  const hasObjects = async (path: string): Promise<boolean> => {
    for await (const _ of store.list(`${path}/`, 1)) return true;
    return false;
  };
  return {
    retentionSecondsMin: stores.settings.retentionSecondsMin,
    verifyRoot: verify,
    ensureRoot: verify,
    requireRoot: verify,
    async requirePlainDirectory(segments) {
      if (await hasObjects(joinKey(base.path, ...segments))) return;
      throw new ServiceError('TableNotFound', 'There is no Lance table at the location.');
    },
    async requireUnused(segments) {
      if (await hasObjects(joinKey(base.path, ...segments))) throw locationUsed();
    },
    hasDirectory: async (name) => hasObjects(joinKey(base.path, name)),
    watchVersions: async () => ({ read: () => undefined, has: () => false }),
    manifestPath,
    // An object exists as a whole or not at all.
    quarantineTornManifest: () => undefined,
    readCommits: async (location, branch, afterVersion) =>
      onBranch(location, branch, async (path) => readCommitsAfter(store, path, afterVersion)),
    async restoreVersion(location, branch, restore) {
      const below = branchPath(branch);
      return below !== undefined && restoreVersion(store, joinKey(pathOf(location), below), restore);
    },
    inspectCommit: async (location, branch, version) =>
      onBranch(location, branch, async (path) => inspectCommit(store, path, version)),
    openSubmitted: async (location, submission) =>
      openSubmitted(createObjectFiles(store, pathOf(location)), location, submission),
    replaceSchemaMetadata: async (location, branch, update) =>
      replaceSchemaMetadata(createObjectFiles(store, pathOf(location)), branch, update),
    commitEmpty: async (location, branch, version) =>
      commitEmpty(createObjectFiles(store, pathOf(location)), branch, version),
    async refuseForeignFiles(location, version) {
      const manifest = await findManifest(store, pathOf(location), version);
      if (manifest === undefined) throw new Error(`The manifest of version ${version} was not found.`);
      requireOwnFiles(manifest.file);
    },
    async readRefFile(location, kind, name) {
      const file = await store.get(joinKey(pathOf(location), refPath(kind, name)));
      return file === undefined ? undefined : readRef(file.toString('utf8'));
    },
    openTag: async (location, name) => openTag(store, pathOf(location), name),
    openCloneFolder: (location) => createObjectCloneFolder(store, { ...base, path: pathOf(location) }),
    removeFolder: async (location) => removePrefix(store, pathOf(location)),
    async removeBranch(location, branch, others) {
      for (const folder of branchFolders(branch, others)) await removePrefix(store, joinKey(pathOf(location), folder));
    },
    removeManifests: async (paths) => store.remove(paths.map((path) => parseAddress(path).path)),
    measureManifest: async (path) => store.measure(parseAddress(path).path),
    async measureTable(location) {
      let bytes = 0;
      for await (const object of store.list(`${pathOf(location)}/`)) bytes += object.bytes;
      return bytes;
    },
    measureVersion: async (location, branch, version) =>
      onManifest(store, { location, branch, version }, readVersionSize),
    readLastFragment: async (location, branch, version) =>
      onManifest(store, { location, branch, version }, readLastFragment),
    readRowLayout: async (location, branch, version) => onManifest(store, { location, branch, version }, readRowLayout),
    sweepUnfinishedFiles: async (location, olderThanMilliseconds) =>
      store.removeUnfinished(`${pathOf(location)}/`, Date.now() - olderThanMilliseconds),
    beginSync: async () => NO_SYNC,
    syncSince: async () => {},
    forget: () => {},
  };
}

/** `undefined` for a branch whose name is not a valid path. */
async function onBranch<Value>(
  location: TableLocation,
  branch: string | undefined,
  read: (path: string) => Promise<Value>,
): Promise<Value | undefined> {
  const below = branchPath(branch);
  return below === undefined ? undefined : read(joinKey(pathOf(location), below));
}

/**
 * Commits an earlier version of a table or branch again, as the version right after the base, or not at all. The
 * engine's restore is unconditional: if its request is late, it undoes what others have committed meanwhile.
 */
async function restoreVersion(
  store: ObjectStore,
  path: string,
  { version, baseVersion }: { readonly version: number; readonly baseVersion: number },
): Promise<boolean> {
  const restored = await findManifest(store, path, version);
  const base = version === baseVersion ? restored : await findManifest(store, path, baseVersion);
  if (restored === undefined || base === undefined) {
    throw new ServiceError('TableVersionNotFound', `The version ${version} does not exist.`);
  }
  const restore = {
    restored: restored.file,
    restoredVersion: version,
    base: base.file,
    baseVersion,
    uuid: randomUUID(),
    nowMilliseconds: Date.now(),
  };
  await store.put(joinKey(path, '_transactions', transactionFileName(restore)), encodeRestoreTransaction(restore));
  const key = joinKey(path, manifestPathLike(base.name, baseVersion + 1));
  return store.putIfAbsent(key, encodeRestoredManifest(restore));
}

/** Files of a table on an object store: what the store has acknowledged is durable. */
function createObjectFiles(store: ObjectStore, path: string): SubmissionFiles {
  return {
    async read(name, bytesMax) {
      const key = joinKey(path, name);
      return bytesMax === undefined ? store.get(key) : (await store.getRange(key, 0, bytesMax + 1))?.content;
    },
    areWhole: async (files) => areWhole(store, path, files),
    sync: async () => {},
    putIfAbsent: async (name, content) => store.putIfAbsent(joinKey(path, name), content),
    findETag: async (name) => store.findETag(joinKey(path, name)),
    remove: async (name) => store.remove([joinKey(path, name)]),
  };
}

/** `undefined` if the manifest was not found. */
async function onManifest<Value>(
  store: ObjectStore,
  { location, branch, version }: Omit<ManifestAddress, 'isCountedDown'>,
  read: (file: Buffer) => Value,
): Promise<Value | undefined> {
  return onBranch(location, branch, async (path) => {
    const manifest = await findManifest(store, path, version);
    return manifest === undefined ? undefined : read(manifest.file);
  });
}

function pathOf(location: TableLocation): string {
  return parseAddress(locationUri(location)).path;
}

const NO_SYNC = { sync: async (): Promise<void> => {}, end: (): void => {} };
