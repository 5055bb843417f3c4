import pLimit from 'p-limit';
import { listDataFilePaths } from '../format/fragments.ts';
import { DATA_FOLDERS } from '../format/layout.ts';
import { readFragments } from '../format/commit.ts';
import { joinKey } from './address.ts';
import { findManifest } from './commit-history.ts';
import type { CopySource, ObjectStore, StoredObject } from './object-store.ts';

export interface Folder {
  readonly store: ObjectStore;
  readonly bucket: string;
  readonly path: string;
}

const CONCURRENT_MAX = 16;

/** Makes a table out of one version of another, by copies on the side of the store. The manifest is copied last. */
export async function cloneVersion(from: Folder, to: Folder, version: number): Promise<void> {
  try {
    await copyVersion(from, to, version);
  } catch (error) {
    await removePrefix(to.store, to.path).catch(() => {});
    throw error;
  }
}

async function copyVersion(from: Folder, to: Folder, version: number): Promise<void> {
  const manifest = await findManifest(from.store, from.path, version);
  if (manifest === undefined) throw new Error(`The manifest of version ${version} was not found.`);
  const isNeeded = selectNeeded(manifest.file);
  const limit = pLimit(CONCURRENT_MAX);
  const copyOne = async (name: string, bytes: number): Promise<void> => {
    const source: CopySource = { bucket: from.bucket, key: joinKey(from.path, name), bytes };
    await to.store.copy(source, joinKey(to.path, name));
  };
  for (const folder of DATA_FOLDERS) {
    for await (const page of pagesOf(from.store, from.path, folder)) {
      const needed = page.filter(({ name }) => isNeeded(name));
      await limit.map([...needed], async ({ name, bytes }) => copyOne(name, bytes));
    }
  }
  // Without it there is no table.
  await copyOne(manifest.name, manifest.file.length);
}

/** Data files that only other versions use are left behind: here a copy takes space. */
function selectNeeded(manifest: Buffer): (name: string) => boolean {
  const named = new Set(listDataFilePaths(readFragments(manifest)));
  return (name) => !DATA_FILE.test(name) || named.has(name);
}

const DATA_FILE = /^data\/[^/]+\.lance$/;

const PAGE = 1000;

async function* pagesOf(store: ObjectStore, path: string, folder: string) {
  let page: { readonly name: string; readonly bytes: number }[] = [];
  for await (const { key, bytes } of store.list(`${joinKey(path, folder)}/`)) {
    page.push({ name: path === '' ? key : key.slice(path.length + 1), bytes });
    if (page.length < PAGE) continue;
    yield page;
    page = [];
  }
  yield page;
}

/** Removes all objects below a path. */
export async function removePrefix(store: ObjectStore, path: string): Promise<void> {
  let page: StoredObject['key'][] = [];
  for await (const { key } of store.list(`${path}/`)) {
    page.push(key);
    if (page.length < PAGE) continue;
    await store.remove(page);
    page = [];
  }
  await store.remove(page);
}
