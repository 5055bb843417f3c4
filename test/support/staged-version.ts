import { randomUUID } from 'node:crypto';
import { cp, mkdir, mkdtemp, readFile, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { connect } from '@lancedb/lancedb';
import type { Table } from '@lancedb/lancedb';
import type { SubmittedPlan } from '../../src/engine/engine.ts';
import { readManifestName } from '../../src/storage/format/manifest.ts';

/** The body of a create_table_version request. */
export interface StagedVersion {
  readonly version: number;
  readonly manifest_path: string;
  readonly manifest_size: number;
  readonly naming_scheme: 'V2';
}

export type Change = (table: Table) => Promise<unknown>;

/**
 * Does what an external writer does before it commits: all files of the next version are written to the folder of the
 * table, and its manifest under a staging name. The change is made in a copy, so that nothing is committed.
 */
export async function stageVersion(location: string, change: Change, branch?: string): Promise<StagedVersion> {
  const folder = await mkdtemp(join(tmpdir(), 'tiltyard-staged-'));
  const below = branch === undefined ? '.' : join('tree', branch);
  try {
    const copy = join(folder, 'table.lance');
    await cp(location, copy, { recursive: true });
    const versions = join(copy, below, '_versions');
    const before = new Set(await readdir(versions));
    const connection = await connect(folder);
    const table = await connection.openTable('table');
    await change(branch === undefined ? table : await (await table.branches()).checkout(branch));
    connection.close();
    const added = (await readdir(versions)).find((name) => !before.has(name) && readManifestName(name) !== undefined);
    if (added === undefined) throw new Error('The change committed no version.');
    const content = await readFile(join(versions, added));
    await rm(versions, { recursive: true });
    await cp(copy, location, { recursive: true, force: false });
    return await stageManifest(join(location, below), readManifestName(added) ?? 0, content);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Stages the first version of one table, with all of its files, as that of another, which has none. */
export async function copyFirstVersion(from: string, to: string): Promise<StagedVersion> {
  await mkdir(join(to, '_versions'), { recursive: true });
  await cp(join(from, 'data'), join(to, 'data'), { recursive: true });
  return stageManifest(to, 1, await readVersion(from, 1));
}

/** Stages any bytes. */
export async function stageManifest(location: string, version: number, content: Buffer): Promise<StagedVersion> {
  const name = `${(2n ** 64n - 1n - BigInt(version)).toString().padStart(20, '0')}.manifest-${randomUUID()}`;
  const path = join(location, '_versions', name);
  await writeFile(path, content);
  return { version, manifest_path: path.slice(1), manifest_size: (await stat(path)).size, naming_scheme: 'V2' };
}

/** Files of the folder of versions that are no manifests, without the hint of the engine. */
export async function listStaged(location: string): Promise<readonly string[]> {
  const names = await readdir(join(location, '_versions'));
  return names.filter((name) => readManifestName(name) === undefined && !name.endsWith('.json'));
}

/** The bytes of a committed version. */
export async function readVersion(location: string, version: number): Promise<Buffer> {
  const names = await readdir(join(location, '_versions'));
  const name = names.find((each) => readManifestName(each) === version);
  if (name === undefined) throw new Error(`There is no version ${version} in ${basename(location)}.`);
  return readFile(join(location, '_versions', name));
}

/** Moves a staged manifest to another name. */
export async function renameStaged(staged: StagedVersion, name: string): Promise<StagedVersion> {
  const path = `/${staged.manifest_path}`;
  const moved = join(path, '..', name);
  await rename(path, moved);
  return { ...staged, manifest_path: moved.slice(1) };
}

/** What the service stores with the version of a plan. */
export function toVersionMetadata(plan: SubmittedPlan, entries: Readonly<Record<string, string>> | undefined) {
  if (entries === undefined) return undefined;
  return () => ({ entries, committedAtMicroseconds: plan.manifest.committedAtMicroseconds });
}
