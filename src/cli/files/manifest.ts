import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { UsageError, toJsonText } from '../command.ts';
import { showPath } from '../session.ts';
import type { IndexParameters } from './index-parameters.ts';
import { replaceFile } from './local-files.ts';

/** What a backup holds, in `manifest.json` of its folder. */
export interface Manifest {
  readonly format: 1;
  readonly made_by: string;
  readonly made_at: string;
  readonly database: string;
  readonly complete: boolean;
  readonly namespaces: readonly NamespaceEntry[];
  readonly tables: readonly TableEntry[];
}

export interface NamespaceEntry {
  readonly path: readonly string[];
  readonly properties: Readonly<Record<string, string>>;
}

export interface TableEntry {
  readonly path: readonly string[];
  readonly version: number;
  readonly rows: number;
  /** An Arrow stream, below the folder. */
  readonly file: string;
  readonly bytes: number;
  readonly sha256: string;
  readonly properties: Readonly<Record<string, string>>;
  readonly schema_metadata: Readonly<Record<string, string>>;
  readonly indexes: readonly IndexEntry[];
  /** For information: a restored table has one version. */
  readonly tags: Readonly<Record<string, number>>;
  /** For information, too. */
  readonly branches?: readonly string[];
}

export interface IndexEntry {
  readonly name: string;
  readonly columns: readonly string[];
  readonly type: string;
  readonly distance_type?: string;
  readonly parameters?: IndexParameters;
  /** What will differ when it is built again. */
  readonly missing?: readonly string[];
}

const NAME = 'manifest.json';

export async function findManifest(folder: string): Promise<Manifest | undefined> {
  const path = join(folder, NAME);
  const text = await readFile(path, 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = undefined;
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The number of the format stands for its fields.
  if (typeof value === 'object' && value !== null && 'format' in value && value.format === 1) return value as Manifest;
  throw new UsageError(`${path} is not the manifest of a backup that is known here.`);
}

export async function requireManifest(folder: string): Promise<Manifest> {
  const manifest = await findManifest(folder);
  if (manifest === undefined) throw new UsageError(`${folder} holds no backup: there is no ${NAME}.`);
  if (manifest.complete) return manifest;
  throw new UsageError(`The backup in ${folder} did not finish. Finish it with "tiltyard backup --resume".`);
}

export async function saveManifest(folder: string, manifest: Manifest): Promise<void> {
  await replaceFile(join(folder, NAME), toJsonText(manifest));
}

/** Whether the file of a table is still as it was written. */
export async function isUnchanged(folder: string, { file, bytes, sha256 }: TableEntry): Promise<boolean> {
  const hash = createHash('sha256');
  let length = 0;
  try {
    for await (const piece of createReadStream(join(folder, file))) {
      if (!(piece instanceof Uint8Array)) return false;
      hash.update(piece);
      length += piece.length;
    }
  } catch {
    return false;
  }
  return length === bytes && hash.digest('hex') === sha256;
}

const SHOWN_MAX = 20;

/** One sentence for each thing that a restore does not bring back as it was. */
export function listDifferences({ tables }: Manifest): readonly string[] {
  const all = tables.flatMap(differencesOf);
  if (all.length <= SHOWN_MAX) return all;
  return [...all.slice(0, SHOWN_MAX), `… and ${all.length - SHOWN_MAX} more, which follow from the manifest.`];
}

function differencesOf({ path, tags, branches = [], indexes }: TableEntry): readonly string[] {
  const name = showPath(path);
  const tagNames = Object.keys(tags);
  return [
    ...(branches.length === 0 ? [] : [`${name}: not in the backup are its branches: ${branches.join(', ')}.`]),
    ...(tagNames.length === 0 ? [] : [`${name}: not restored are its tags: ${tagNames.join(', ')}.`]),
    ...indexes.flatMap((index) =>
      (index.missing ?? []).map((what) => `${name}: the index ${index.name} is built again; ${what}.`),
    ),
  ];
}
