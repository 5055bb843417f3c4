import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isView } from '../../model/derived/view.ts';
import type { TablePath } from '../../model/identifier.ts';
import { readTextParameters } from '../../model/index-spec.ts';
import { parseJson } from '../../model/strict-json.ts';
import type { CreateIndexBody, IndexContent } from '../../wire/indexes.ts';
import { UsageError, toJsonText } from '../command.ts';
import { showPath } from '../session.ts';
import { replaceFile } from './local-files.ts';

/** The contents of a backup, in `manifest.json` in its folder. */
export interface Manifest {
  readonly format: 1;
  readonly made_by: string;
  readonly made_at: string;
  readonly database: string;
  readonly complete: boolean;
  readonly namespaces: readonly NamespaceEntry[];
  readonly tables: readonly TableEntry[];
  /** Tables that could not be read. Absent in backups of earlier releases. */
  readonly failed?: readonly FailedTable[];
}

export interface FailedTable {
  readonly path: TablePath;
  readonly error: string;
}

export interface NamespaceEntry {
  readonly path: readonly string[];
  readonly properties: Readonly<Record<string, string>>;
}

export interface TableEntry {
  readonly path: TablePath;
  readonly version: number;
  readonly rows: number;
  /** An Arrow stream, relative to the folder. */
  readonly file: string;
  readonly bytes: number;
  readonly sha256: string;
  readonly properties: Readonly<Record<string, string>>;
  readonly schema_metadata: Readonly<Record<string, string>>;
  readonly indexes: readonly IndexEntry[];
  /** Tags and branches are for information only: a restored table has one version. */
  readonly tags: Readonly<Record<string, number>>;
  readonly branches?: readonly string[];
}

export interface IndexEntry {
  readonly name: string;
  readonly columns: readonly string[];
  readonly type: string;
  readonly distance_type?: string;
  readonly parameters?: IndexParameters;
  /** What will differ when it is rebuilt. */
  readonly missing?: readonly string[];
}

const NAME = 'manifest.json';

export async function findManifest(folder: string): Promise<Manifest | undefined> {
  const path = join(folder, NAME);
  const text = await readFile(path, 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  const value = objectOf(parseJson(text));
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The number of the format implies its fields.
  if (value?.['format'] === 1) return value as unknown as Manifest;
  throw new UsageError(`${path} is not the manifest of a backup, or is from a newer release.`);
}

export async function requireManifest(folder: string): Promise<Manifest> {
  const manifest = await findManifest(folder);
  if (manifest === undefined) throw new UsageError(`${folder} has no backup: ${NAME} does not exist.`);
  if (manifest.complete) return manifest;
  throw new UsageError(`The backup in ${folder} did not finish. Finish it with "tiltyard backup --resume".`);
}

export async function saveManifest(folder: string, manifest: Manifest): Promise<void> {
  await replaceFile(join(folder, NAME), toJsonText(manifest));
}

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

export function describeFailed({ path, error }: FailedTable): string {
  return `${showPath(path)} is not in the backup: ${error}`;
}

const SHOWN_MAX = 20;

/** One sentence for each thing that a restore does not restore exactly. */
export function listDifferences({ tables }: Manifest): readonly string[] {
  const all = tables.flatMap(differencesOf);
  if (all.length <= SHOWN_MAX) return all;
  return [...all.slice(0, SHOWN_MAX), `… and ${all.length - SHOWN_MAX} more; see manifest.json.`];
}

function differencesOf(entry: TableEntry): readonly string[] {
  const { path, tags, branches = [], indexes } = entry;
  const name = showPath(path);
  const tagNames = Object.keys(tags);
  return [
    ...(isView(entry) ? [`${name}: the materialized view is restored as a plain table.`] : []),
    ...(branches.length === 0 ? [] : [`${name}: branches are not in the backup: ${branches.join(', ')}.`]),
    ...(tagNames.length === 0 ? [] : [`${name}: tags are not restored: ${tagNames.join(', ')}.`]),
    ...indexes.flatMap((index) =>
      (index.missing ?? []).map((what) => `${name}: the index ${index.name} is rebuilt; ${what}.`),
    ),
  ];
}

/** The known parameters of an index, as a request to build it again. */
type IndexParameters = Partial<CreateIndexBody>;

type Details = Readonly<Record<string, unknown>>;

export function readDetails({ index_type: type, index_details: text }: IndexContent) {
  const details = objectOf(parseJson(text ?? '')) ?? {};
  const parameters = type === 'FTS' ? readTextParameters(text ?? '') : vectorParameters(type, details);
  const missing = missingParameters(type, details);
  return { parameters, ...(missing.length === 0 ? {} : { missing }) };
}

/** Types with a configurable `num_bits`; for others it is fixed. */
const WITH_BITS = new Set(['IVF_PQ', 'IVF_RQ']);

function vectorParameters(type: string, details: Details): IndexParameters {
  const [compression, hnsw, hints] = ['compression', 'hnsw', 'runtime_hints'].map((name) => objectOf(details[name]));
  return {
    ...number('num_sub_vectors', compression?.['num_sub_vectors']),
    ...(WITH_BITS.has(type) ? number('num_bits', compression?.['num_bits']) : {}),
    ...number('m', hnsw?.['max_connections']),
    ...number('ef_construction', hnsw?.['construction_ef']),
    ...number('max_iterations', hints?.['lance.ivf.max_iters']),
    ...number('sample_rate', hints?.['lance.ivf.sample_rate']),
  };
}

/** Counts are numbers or text. */
function number(name: keyof CreateIndexBody, value: unknown): IndexParameters {
  return /^[1-9]\d{0,8}$/.test(String(value)) ? { [name]: Number(value) } : {};
}

/** For text columns; the server accepts no other. */
const DEFAULT_TOKENIZER = 'text';

/** Parameters that the server does not report, or no longer accepts: a rebuilt index will differ in them. */
function missingParameters(type: string, details: Details): readonly string[] {
  return [
    ...(type.startsWith('IVF_') ? ['its number of partitions follows from the number of rows'] : []),
    ...((details['lance_tokenizer'] ?? DEFAULT_TOKENIZER) === DEFAULT_TOKENIZER
      ? []
      : ['it uses the default tokenizer']),
  ];
}

function objectOf(value: unknown): Details | undefined {
  return typeof value === 'object' && value !== null ? { ...value } : undefined;
}
