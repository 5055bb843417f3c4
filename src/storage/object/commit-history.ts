import pLimit from 'p-limit';
import type { Commit } from '../../model/table.ts';
import { readCommit, readWrittenCommit } from '../format/commit.ts';
import type { WrittenFile } from '../format/fragments.ts';
import { VERSIONS, manifestPaths, toManifests, toManifestsAfter } from '../format/layout.ts';
import type { InspectedCommit } from '../storage.ts';
import { joinKey } from './address.ts';
import type { ObjectStore } from './object-store.ts';

const CONCURRENT_MAX = 8;

/** The commits of a table or branch after a version, oldest first. */
export async function readCommitsAfter(store: ObjectStore, path: string, version: number): Promise<readonly Commit[]> {
  const names = await listManifestNames(store, path, version);
  return pLimit(CONCURRENT_MAX).map([...toManifestsAfter(names, version)], async (manifest) => {
    const key = joinKey(path, VERSIONS, manifest.name);
    const file = await store.get(key);
    // A cleanup came first; a retry does not list it any more.
    if (file === undefined) throw new Error(`The manifest ${key} no longer exists.`);
    const commit = await readCommit(file, async (name) => store.get(joinKey(path, name)));
    return { version: manifest.version, ...commit };
  });
}

/** Names that count down are listed newest first, so the first old one ends the list. */
async function listManifestNames(store: ObjectStore, path: string, afterVersion: number): Promise<readonly string[]> {
  const prefix = `${joinKey(path, VERSIONS)}/`;
  const names: string[] = [];
  for await (const { key } of store.list(prefix)) {
    const name = key.slice(prefix.length);
    const [manifest] = toManifests([name]);
    if (manifest !== undefined && manifest.version <= afterVersion && isCountedDown(name)) break;
    names.push(name);
  }
  return names;
}

function isCountedDown(name: string): boolean {
  return /^\d{20}\./.test(name);
}

export async function findManifest(store: ObjectStore, path: string, version: number) {
  for (const name of manifestPaths(version)) {
    const file = await store.get(joinKey(path, name));
    if (file !== undefined) return { name, file };
  }
  return undefined;
}

/** Checks that the files of a commit exist: after a lost reply, the engine may delete files that the manifest names. */
export async function inspectCommit(
  store: ObjectStore,
  path: string,
  version: number,
): Promise<InspectedCommit | undefined> {
  const manifest = await findManifest(store, path, version);
  const commit = manifest === undefined ? undefined : readWrittenCommit(manifest.file);
  if (commit === undefined) return undefined;
  const { files, ...inspected } = commit;
  return { ...inspected, isIntact: await areWhole(store, path, files) };
}

/** Whether all of these files, relative to a path, exist and are complete. */
export async function areWhole(store: ObjectStore, path: string, files: readonly WrittenFile[]): Promise<boolean> {
  const whole = await pLimit(CONCURRENT_MAX).map([...files], async (file) => isWhole(store, path, file));
  return whole.every(Boolean);
}

async function isWhole(store: ObjectStore, path: string, { path: name, bytes, ending = '' }: WrittenFile) {
  const key = joinKey(path, name);
  const size = bytes === undefined || ending === '' ? await store.measure(key) : bytes;
  if (size === undefined || size === 0 || (bytes !== undefined && size !== bytes)) return false;
  if (ending === '') return true;
  const end = await store.getRange(key, Math.max(0, size - ending.length), ending.length);
  return end?.objectBytes === size && end.content.toString('latin1') === ending;
}
