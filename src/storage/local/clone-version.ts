import { constants } from 'node:fs';
import { copyFile, link, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { DATA_FOLDERS, VERSIONS } from '../format/layout.ts';
import { listFolder } from '../sync/folder-tree.ts';
import { findManifest } from './manifest-file.ts';

/**
 * Makes a table out of one version of another. The engine's own clone refers to the files of the source, and loses its
 * rows when the source is dropped or cleaned up. Files of a table never change once they are written, so the two share
 * them by hard links: as cheap, and neither needs the other.
 */
export async function cloneVersion(from: string, to: string, version: number): Promise<void> {
  try {
    await linkVersion(from, to, version);
  } catch (error) {
    await rm(to, { recursive: true, force: true }).catch(() => {});
    throw error;
  }
}

async function linkVersion(from: string, to: string, version: number): Promise<void> {
  await mkdir(to);
  for (const folder of DATA_FOLDERS) await linkTree(join(from, folder), join(to, folder));
  await mkdir(join(to, VERSIONS));
  // Last: without it there is no table.
  const manifest = findManifest(from, version);
  await linkFile(join(from, manifest), join(to, manifest));
}

async function linkTree(from: string, to: string): Promise<void> {
  const entries = await listFolder(from);
  if (entries.length === 0) return;
  await mkdir(to);
  for (const entry of entries) {
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
