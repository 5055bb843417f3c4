import pLimit from 'p-limit';
import { ServiceError } from '../../errors/service-error.ts';
import type { TableLocation } from '../../model/table.ts';
import { findTransactionPath } from '../format/commit.ts';
import { encodeDetachedManifest } from '../format/detached-manifest.ts';
import { DATA_FOLDERS, branchPath, joinPath, manifestPaths } from '../format/layout.ts';
import { checkManifest, listIndexFolders } from '../submitted/check-manifest.ts';
import { listUris } from '../submitted/submitted-manifest.ts';
import type { CloneFile, CloneFolder } from './clone-folder.ts';
import { isMissing } from '../sync/file-sync.ts';
import { mapAll } from './parts.ts';

export interface CloneSource {
  readonly location: TableLocation;
  readonly branch: string | undefined;
  readonly version: number;
}

const CONCURRENT_MAX = 16;
const PAGE = 1000;

/**
 * Creates a table from one version of another. The engine's own clone refers to the files of the source, and loses its
 * rows if the source is dropped or cleaned up; this one has its own copy of all files. After a failure nothing is left.
 */
export async function cloneVersion(from: CloneFolder, to: CloneFolder, source: CloneSource): Promise<void> {
  await to.prepare();
  try {
    await copyVersion(from, to, source);
  } catch (error) {
    await to.remove().catch(() => {});
    throw error;
  }
}

async function copyVersion(from: CloneFolder, to: CloneFolder, { location, branch, version }: CloneSource) {
  const own = branchPath(branch);
  const manifest = own === undefined ? undefined : await findManifest(from, own, version);
  if (own === undefined || manifest === undefined) throw versionNotFound(version);
  // Refuses files outside the table, which the clone must not get.
  const named = checkManifest(manifest.file, { version, branch, tableUris: listUris(location) });
  const paths = new Set(named.map(({ path }) => path));
  const files = new Set([...paths].filter((path) => LISTED.test(path)));
  const indexes = new Set(listIndexFolders(manifest.file));
  // Only this version's transaction: a cleanup may be deleting those of others.
  const transaction = findTransactionPath(manifest.file);
  const missing = new Set(files);
  const limit = pLimit(CONCURRENT_MAX);
  // A branch also uses files of its table and of other branches. File names are unique in a table.
  for (const base of new Set([own, '', ...named.map((file) => file.base ?? own)])) {
    const isNeeded = (path: string): boolean => {
      const [, dataFile] = BLOB.exec(path) ?? [];
      if (dataFile !== undefined) return paths.has(path) || paths.has(`${dataFile}.lance`);
      if (path.startsWith('_transactions/')) return base === own && path === transaction;
      if (path.startsWith('_indices/')) return indexes.has(path.split('/', 2).join('/'));
      return !LISTED.test(path) || files.has(path);
    };
    for await (const page of pagesOf(from, base)) {
      const needed = page.filter(({ path }) => isNeeded(path));
      await mapAll(limit, needed, async ({ path, file }) => {
        if (await copyFile(file, to, path)) missing.delete(path);
        else missing.add(path);
      });
    }
  }
  if (missing.size > 0) {
    throw (await findManifest(from, own, version)) === undefined ? versionNotFound(version) : incomplete(version);
  }
  // Last, because without it there is no table.
  await to.put(manifest.name, own === '' ? manifest.file : encodeDetachedManifest(manifest.file));
}

/** False when another program has deleted it since it was listed. */
async function copyFile(file: CloneFile, to: CloneFolder, path: string): Promise<boolean> {
  try {
    await to.add(path, file);
    return true;
  } catch (error) {
    if (await isDeleted(file)) return false;
    throw error;
  }
}

async function isDeleted(file: CloneFile): Promise<boolean> {
  try {
    return (await file.readPart(0, 1)).length === 0 && file.bytes > 0;
  } catch (error) {
    return isMissing(error);
  }
}

/** Large values of a data file, in a folder of its name. */
const BLOB = /^(data\/[^/]+)\/./;
/** Files that manifests list one by one. Only newer engines list those of indexes. */
const LISTED = /^(?:data\/[^/]+\.lance$|_deletions\/|_indices\/)/;

async function findManifest(from: CloneFolder, own: string, version: number) {
  for (const name of manifestPaths(version)) {
    const file = await from.read(joinPath(own, name));
    if (file !== undefined) return { name, file };
  }
  return undefined;
}

/** The files of a table or branch, with paths relative to it. */
async function* pagesOf(from: CloneFolder, base: string) {
  let page: { readonly path: string; readonly file: CloneFile }[] = [];
  for (const folder of DATA_FOLDERS) {
    for await (const file of from.list(joinPath(base, folder))) {
      page.push({ path: base === '' ? file.path : file.path.slice(base.length + 1), file });
      if (page.length < PAGE) continue;
      yield page;
      page = [];
    }
  }
  yield page;
}

function incomplete(version: number): ServiceError {
  return new ServiceError('InvalidTableState', `Files of version ${version} of the source are missing.`, {
    hint: 'Clone another version.',
  });
}

function versionNotFound(version: number): ServiceError {
  return new ServiceError('TableVersionNotFound', `The table has no version ${version}.`);
}
