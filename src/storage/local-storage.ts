import { access, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Commit } from '../model/commit.ts';
import { placeKey } from '../model/table.ts';
import type { Place } from '../model/table.ts';
import { cloneVersion } from './clone-version.ts';
import { readCommitsAfter } from './commit-history.ts';
import { refuseForeignFiles } from './foreign-files.ts';
import { watchVersions } from './freshness.ts';
import { inspectCommit } from './inspect-commit.ts';
import type { InspectedCommit } from './inspect-commit.ts';
import { branchFolder, findLocalFolder, tableFolder } from './local-folder.ts';
import { cloneUnsupported } from './object-storage.ts';
import { measureFolder, sweepUnfinished } from './maintenance-files.ts';
import { manifestPath, measureManifest, removeManifests } from './manifest-file.ts';
import { requirePlainDirectory } from './plain-directory.ts';
import { readRefFile } from './ref-file.ts';
import { ensureRootFolder, requireRootFolder } from './root-folder.ts';
import type { ManifestAddress, RefFile, RefKind, Storage, SyncScope, VersionWatch } from './storage.ts';
import type { TableSync } from './table-sync.ts';
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

  async watchVersions(place: Place): Promise<VersionWatch> {
    return watchVersions(this.#folder(place));
  }

  manifestPath(address: ManifestAddress): string {
    return manifestPath(address);
  }

  quarantineTornManifest(place: Place, branch: string | undefined): number | undefined {
    const folder = branchFolder(this.#folder(place), branch);
    return folder === undefined ? undefined : quarantineTornManifest(folder);
  }

  async readCommits(
    place: Place,
    branch: string | undefined,
    afterVersion: number,
  ): Promise<readonly Commit[] | undefined> {
    const folder = branchFolder(this.#folder(place), branch);
    return folder === undefined ? undefined : readCommitsAfter(folder, afterVersion);
  }

  inspectCommit(place: Place, branch: string | undefined, version: number): InspectedCommit | undefined {
    const folder = branchFolder(this.#folder(place), branch);
    return folder === undefined ? undefined : inspectCommit(folder, version);
  }

  async refuseForeignFiles(place: Place, version: number): Promise<void> {
    await refuseForeignFiles(this.#folder(place), version);
  }

  async readRefFile(place: Place, kind: RefKind, name: string): Promise<RefFile | undefined> {
    return readRefFile(this.#folder(place), kind, name);
  }

  async cloneVersion(source: Place, target: Place, version: number): Promise<void> {
    const targetRoot = findLocalFolder(target.root);
    if (targetRoot === undefined) throw cloneUnsupported();
    await cloneVersion(this.#folder(source), tableFolder(targetRoot, target), version);
  }

  async removeFolder(place: Place): Promise<void> {
    await rm(this.#folder(place), { recursive: true, force: true });
  }

  requireRemovableManifests(): void {}

  async removeManifests(paths: readonly string[]): Promise<void> {
    await removeManifests(paths);
  }

  async measureManifest(path: string): Promise<number | undefined> {
    return measureManifest(path);
  }

  async measureTable(place: Place): Promise<number | undefined> {
    return measureFolder(this.#folder(place));
  }

  async sweepUnfinishedFiles(place: Place, olderThanMilliseconds: number): Promise<number> {
    return sweepUnfinished(this.#folder(place), olderThanMilliseconds);
  }

  async beginSync(place: Place): Promise<SyncScope> {
    return this.#sync.begin(placeKey(place), this.#folder(place));
  }

  async syncSince(place: Place, sinceMilliseconds: number): Promise<void> {
    await this.#sync.syncSince(placeKey(place), this.#folder(place), sinceMilliseconds);
  }

  forget(place: Place): void {
    this.#sync.forget(placeKey(place));
  }

  #folder(place: Place): string {
    return tableFolder(this.#root, place);
  }
}
