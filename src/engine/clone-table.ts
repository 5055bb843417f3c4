import { constants } from 'node:fs';
import { access, copyFile, link, mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ServiceError } from '../errors/service-error.ts';
import { placeLocation } from '../model/table.ts';
import type { Place, TableState } from '../model/table.ts';
import { isRemote } from './connections.ts';
import { engineCall } from './engine-errors.ts';
import { refuseForeignFiles } from './foreign-files.ts';
import { manifestName } from './manifest-name.ts';
import type { OpenTables } from './open-tables.ts';

/** What a version may refer to. Tags, branches and the other versions stay with the source. */
const FOLDERS = ['data', '_deletions', '_indices', '_transactions'];
const VERSIONS = '_versions';

/**
 * Makes a table of its own out of one version of another; to be called in the lane of the source. The engine's own clone
 * refers to the files of the source, and loses its rows when the source is dropped or cleaned up. Files of a table are
 * never changed once they are written, so here the two share them by hard links: as cheap, and neither needs the other.
 */
export async function cloneTable(tables: OpenTables, source: TableState, target: Place): Promise<number> {
  if (isRemote(source.place.root) || isRemote(target.root)) {
    throw new ServiceError('Unsupported', 'Tables on an object store cannot be cloned.');
  }
  if (source.branch !== undefined) throw new ServiceError('Unsupported', 'A branch cannot be cloned.');
  const version = await tables.useAlone(source, async ({ native }) => engineCall(async () => native.version()));
  // Its files are elsewhere, and so would be those of the clone.
  await refuseForeignFiles(source.place, version);
  const folder = placeLocation(target);
  try {
    await linkVersion(placeLocation(source.place), folder, version);
    const latest = { place: target, branch: undefined, version: undefined };
    return await tables.useAlone(latest, async ({ native }) => engineCall(async () => native.version()));
  } catch (error) {
    await rm(folder, { recursive: true, force: true }).catch(() => {});
    throw error;
  }
}

async function linkVersion(from: string, to: string, version: number): Promise<void> {
  await mkdir(to);
  for (const folder of FOLDERS) await linkTree(join(from, folder), join(to, folder));
  await mkdir(join(to, VERSIONS));
  // Last: without it there is no table.
  const manifest = await findManifest(from, version);
  await linkFile(join(from, manifest), join(to, manifest));
}

async function findManifest(from: string, version: number): Promise<string> {
  // Old tables name their manifests by the version alone.
  for (const name of [manifestName(version), `${version}.manifest`]) {
    const path = join(VERSIONS, name);
    if (await exists(join(from, path))) return path;
  }
  throw new Error(`The manifest of version ${version} was not found.`);
}

async function linkTree(from: string, to: string): Promise<void> {
  if (!(await exists(from))) return;
  await mkdir(to);
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) await linkTree(source, target);
    else if (entry.isFile()) await linkFile(source, target);
  }
}

/** Databases may be on different disks, and some file systems have no hard links: then it costs a copy. */
async function linkFile(from: string, to: string): Promise<void> {
  try {
    await link(from, to);
  } catch {
    await copyFile(from, to, constants.COPYFILE_FICLONE);
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await access(path);
    return true;
  } catch {
    return false;
  }
}
