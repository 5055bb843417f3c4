import { existsSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { TableLocation } from '../../model/table.ts';
import { branchFolders, manifestPath, readRef, refPath } from '../format/layout.ts';
import { commitEmpty, replaceSchemaMetadata } from '../next-commit.ts';
import type { RefFile, Storage } from '../storage.ts';
import { measureFolder, sweepUnfinished } from '../sync/folder-tree.ts';
import type { TableSync } from '../sync/table-sync.ts';
import { openSubmitted } from '../submitted/submitted-manifest.ts';
import { createLocalCloneFolder } from './clone-folder.ts';
import { findLastFragment, findRowLayout, inspectCommit, measureVersion, readCommitsAfter } from './commit-history.ts';
import {
  branchFolder,
  ensureRootFolder,
  requirePlainDirectory,
  requireRootFolder,
  requireUnused,
  tableFolder,
} from './folders.ts';
import { measureManifest, quarantineTornManifest, refuseForeignFiles, removeManifests } from './manifest-file.ts';
import { stageRefs } from './staged-refs.ts';
import { createLocalFiles } from './submission-files.ts';
import { BLIND, watchVersions } from './version-watch.ts';

/** A root on a local disk. Works on the files directly where the engine has no operation, or does not expose it. */
export function createLocalStorage(root: string, sync: TableSync): Storage {
  const folderOf = (location: TableLocation): string => tableFolder(root, location);
  /** `undefined` for a branch whose name is not a valid path. */
  const onBranch = <Value>(location: TableLocation, branch: string | undefined, read: (folder: string) => Value) => {
    const folder = branchFolder(folderOf(location), branch);
    return folder === undefined ? undefined : read(folder);
  };
  return {
    retentionSecondsMin: 0,
    verifyRoot: async () => {},
    ensureRoot: async () => ensureRootFolder(root),
    requireRoot: async () => requireRootFolder(root),
    requirePlainDirectory: async (segments) => requirePlainDirectory(root, segments),
    requireUnused: async (segments) => requireUnused(root, segments),
    hasDirectory: async (name) => existsSync(join(root, name)),
    watchVersions: async (location, branch) => onBranch(location, branch, watchVersions) ?? BLIND,
    manifestPath,
    quarantineTornManifest: (location, branch) => onBranch(location, branch, quarantineTornManifest),
    readCommits: async (location, branch, afterVersion) =>
      onBranch(location, branch, async (folder) =>
        existsSync(folder) ? readCommitsAfter(folder, afterVersion) : undefined,
      ),
    inspectCommit: async (location, branch, version) =>
      onBranch(location, branch, (folder) => inspectCommit(folder, version)),
    openSubmitted: async (location, submission) =>
      openSubmitted(createLocalFiles(folderOf(location), sync), location, submission),
    replaceSchemaMetadata: async (location, branch, update) =>
      replaceSchemaMetadata(createLocalFiles(folderOf(location), sync), branch, update),
    commitEmpty: async (location, branch, version) =>
      commitEmpty(createLocalFiles(folderOf(location), sync), branch, version),
    refuseForeignFiles: async (location, version) => refuseForeignFiles(folderOf(location), version),
    readRefFile: async (location, kind, name) => readRefFile(join(folderOf(location), refPath(kind, name))),
    stageRefs: async (location) => stageRefs(folderOf(location)),
    openCloneFolder: (location) => createLocalCloneFolder(folderOf(location)),
    removeFolder: async (location) => rm(folderOf(location), { recursive: true, force: true }),
    async removeBranch(location, branch, others) {
      for (const folder of branchFolders(branch, others)) {
        await rm(join(folderOf(location), folder), { recursive: true, force: true });
      }
    },
    removeManifests,
    measureManifest,
    measureTable: async (location) => measureFolder(folderOf(location)),
    measureVersion: async (location, branch, version) =>
      onBranch(location, branch, (folder) => measureVersion(folder, version)),
    readLastFragment: async (location, branch, version) =>
      onBranch(location, branch, (folder) => findLastFragment(folder, version)),
    readRowLayout: async (location, branch, version) =>
      onBranch(location, branch, (folder) => findRowLayout(folder, version)),
    sweepUnfinishedFiles: async (location, olderThanMilliseconds) =>
      sweepUnfinished(folderOf(location), olderThanMilliseconds),
    beginSync: async (location) => sync.begin(folderOf(location)),
    syncSince: async (location, sinceMilliseconds) => sync.syncSince(folderOf(location), sinceMilliseconds),
    forget: (location) => sync.forget(folderOf(location)),
  };
}

async function readRefFile(path: string): Promise<RefFile | undefined> {
  return readRef(await readFile(path, 'utf8').catch(() => ''));
}
