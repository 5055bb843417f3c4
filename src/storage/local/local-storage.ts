import { access, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Commit } from '../../model/commit.ts';
import { locationKey } from '../../model/table.ts';
import type { TableLocation } from '../../model/table.ts';
import { cloneVersion } from './clone-version.ts';
import { readCommitsAfter } from './commit-history.ts';
import { refuseForeignFiles, manifestPath, measureManifest, removeManifests } from './manifest-file.ts';
import { watchVersions } from './version-watch.ts';
import { inspectCommit } from './inspect-commit.ts';
import type { InspectedCommit } from './inspect-commit.ts';
import {
  branchFolder,
  findLocalFolder,
  tableFolder,
  requirePlainDirectory,
  ensureRootFolder,
  requireRootFolder,
} from './root-folder.ts';
import { cloneUnsupported } from '../object-storage.ts';
import { measureFolder, sweepUnfinished } from '../sync/folder-tree.ts';
import { readRefFile } from '../ref-file.ts';
import type { ManifestAddress, RefFile, RefKind, Storage, SyncScope, VersionWatch } from '../storage.ts';
import type { TableSync } from '../sync/table-sync.ts';
import { quarantineTornManifest } from './torn-manifest.ts';

/** A root on a local disk: what the engine does not do, or does not tell, is done on its files. */
export class LocalStorage implements Storage {
  readonly #root: string;
  readonly #sync: TableSync;

  constructor(root: string, sync: TableSync) {
    this.#root = root;
    this.#sync = sync;
  }

  async ensureRoot(): Promise<void> {
    await ensureRootFolder(this.#root);
  }

  async requireRoot(): Promise<void> {
    requireRootFolder(this.#root);
  }

  async requirePlainDirectory(segments: readonly string[]): Promise<void> {
    await requirePlainDirectory(this.#root, segments);
  }

  async hasNamespaceCatalog(): Promise<boolean> {
    return this.hasDirectory('__manifest');
  }

  async hasDirectory(name: string): Promise<boolean> {
    return access(join(this.#root, name)).then(
      () => true,
      () => false,
    );
  }

  async watchVersions(location: TableLocation): Promise<VersionWatch> {
    return watchVersions(this.#folder(location));
  }

  manifestPath(address: ManifestAddress): string {
    return manifestPath(address);
  }

  quarantineTornManifest(location: TableLocation, branch: string | undefined): number | undefined {
    const folder = branchFolder(this.#folder(location), branch);
    return folder === undefined ? undefined : quarantineTornManifest(folder);
  }

  async readCommits(
    location: TableLocation,
    branch: string | undefined,
    afterVersion: number,
  ): Promise<readonly Commit[] | undefined> {
    const folder = branchFolder(this.#folder(location), branch);
    return folder === undefined ? undefined : readCommitsAfter(folder, afterVersion);
  }

  inspectCommit(location: TableLocation, branch: string | undefined, version: number): InspectedCommit | undefined {
    const folder = branchFolder(this.#folder(location), branch);
    return folder === undefined ? undefined : inspectCommit(folder, version);
  }

  async refuseForeignFiles(location: TableLocation, version: number): Promise<void> {
    await refuseForeignFiles(this.#folder(location), version);
  }

  async readRefFile(location: TableLocation, kind: RefKind, name: string): Promise<RefFile | undefined> {
    return readRefFile(this.#folder(location), kind, name);
  }

  async cloneVersion(source: TableLocation, target: TableLocation, version: number): Promise<void> {
    const targetRoot = findLocalFolder(target.root);
    if (targetRoot === undefined) throw cloneUnsupported();
    await cloneVersion(this.#folder(source), tableFolder(targetRoot, target), version);
  }

  async removeFolder(location: TableLocation): Promise<void> {
    await rm(this.#folder(location), { recursive: true, force: true });
  }

  requireRemovableManifests(): void {}

  async removeManifests(paths: readonly string[]): Promise<void> {
    await removeManifests(paths);
  }

  async measureManifest(path: string): Promise<number | undefined> {
    return measureManifest(path);
  }

  async measureTable(location: TableLocation): Promise<number | undefined> {
    return measureFolder(this.#folder(location));
  }

  async sweepUnfinishedFiles(location: TableLocation, olderThanMilliseconds: number): Promise<number> {
    return sweepUnfinished(this.#folder(location), olderThanMilliseconds);
  }

  async beginSync(location: TableLocation): Promise<SyncScope> {
    return this.#sync.begin(locationKey(location), this.#folder(location));
  }

  async syncSince(location: TableLocation, sinceMilliseconds: number): Promise<void> {
    await this.#sync.syncSince(locationKey(location), this.#folder(location), sinceMilliseconds);
  }

  forget(location: TableLocation): void {
    this.#sync.forget(locationKey(location));
  }

  #folder(location: TableLocation): string {
    return tableFolder(this.#root, location);
  }
}
