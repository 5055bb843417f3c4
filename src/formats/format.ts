import type { DataType, Field, RecordBatch, Schema } from 'apache-arrow';
import { invalidInput } from '../errors/service-error.ts';
import type { ServiceError } from '../errors/service-error.ts';
import { nearestName } from '../model/field-path.ts';
import { CONTINUATION, MAGIC } from './arrow/arrow-messages.ts';
import type { Input } from './input.ts';
import type { Convert } from './types/values-of.ts';

export const FORMATS = ['arrow', 'parquet', 'csv', 'ndjson'] as const;
export type Format = (typeof FORMATS)[number];

/** A column to read, as in the file and as in the table. */
export interface PlannedColumn {
  readonly source: Field;
  readonly field: Field;
  /** Why it has its type, for people. */
  readonly reason: string;
  /** Present if the type differs from the source's. */
  readonly convert: Convert | undefined;
}

export interface ReadPlan {
  readonly columns: readonly PlannedColumn[];
  /** The schema of the columns as in the table. */
  readonly schema: Schema;
  readonly batchRows: number;
  /** File columns that are not read. */
  readonly skipped?: readonly string[] | undefined;
  /** Whether the file may lack planned and skipped columns. */
  readonly mayLackColumns?: boolean | undefined;
}

export interface SourceBatch {
  readonly batch: RecordBatch;
  /** How many bytes of the input were read so far; at its end, the size of the input. */
  readonly endByte: number;
}

/** What the values in the first rows of a column have in common. */
export interface Finding {
  /** The type that fits them: lists of one length are vectors. */
  readonly type: DataType;
  /** For people. */
  readonly reason: string;
  /** For a list column: how many lists were seen, and their lengths. */
  readonly lists?: { readonly count: number; readonly lengths: ReadonlySet<number> } | undefined;
}

export interface Source {
  /** As in the file, or as its first rows suggest; lists are not vectors yet. */
  readonly columns: readonly Field[];
  /** For formats without types. */
  readonly findings?: ReadonlyMap<string, Finding>;
  /** Whether columns that the first rows lack may follow later. Absent if the file lists its columns. */
  readonly isOpen?: boolean;
  /** Present if the file contains it. */
  readonly rowCount?: number;
  readonly metadata?: Map<string, string>;
  batches(plan: ReadPlan): AsyncGenerator<SourceBatch>;
}

export function noSuchColumn(name: string, known: readonly string[]): ServiceError {
  const near = nearestName(name, known);
  const columns = known.map((each) => `"${each}"`).join(', ');
  const hint = near === undefined ? `Its columns are ${columns}.` : `Did you mean "${near}"?`;
  return invalidInput(`The file has no column "${name}".`, hint);
}

export type Batches = AsyncIterable<RecordBatch> | Iterable<RecordBatch>;

const EXTENSIONS: Readonly<Record<Format, readonly string[]>> = {
  arrow: ['arrow', 'arrows', 'feather', 'ipc', 'stream'],
  parquet: ['parquet', 'parq', 'pq'],
  csv: ['csv', 'tsv', 'txt'],
  ndjson: ['ndjson', 'jsonl', 'json'],
};

const SNIFF_BYTES = 4096;

/** gzip, ZSTD, ZIP, xz. */
const COMPRESSED: readonly (readonly number[])[] = [
  [0x1f, 0x8b],
  [0x28, 0xb5, 0x2f, 0xfd],
  [0x50, 0x4b, 0x03, 0x04],
  [0xfd, 0x37, 0x7a, 0x58, 0x5a],
];

export function formatOfName(name: string): Format | undefined {
  const extension = /\.([^./\\]+)$/.exec(name)?.[1]?.toLowerCase();
  return FORMATS.find((format) => extension !== undefined && EXTENSIONS[format].includes(extension));
}

/** Unambiguous contents decide; otherwise the file extension. */
export async function detectFormat(input: Input, name = ''): Promise<Format> {
  const head = new Uint8Array(await input.slice(0, Math.min(SNIFF_BYTES, input.size)));
  if (COMPRESSED.some((magic) => magic.every((byte, index) => head[index] === byte))) {
    throw invalidInput('The file is compressed.', 'Decompress it first.');
  }
  const format = formatOfContents(head) ?? formatOfName(name) ?? formatOfText(head);
  if (format !== undefined) return format;
  throw invalidInput('The file has an unknown format.', `Choose its format: ${FORMATS.join(', ')}.`);
}

function formatOfContents(head: Uint8Array): Format | undefined {
  const magic = String.fromCharCode(...head.subarray(0, 6));
  if (magic.startsWith('PAR1')) return 'parquet';
  if (magic === MAGIC) return 'arrow';
  if (head.length < 8) return undefined;
  return new DataView(head.buffer, head.byteOffset).getUint32(0, true) === CONTINUATION ? 'arrow' : undefined;
}

function formatOfText(head: Uint8Array): Format | undefined {
  if (head.length === 0 || head.includes(0)) return undefined;
  const text = new TextDecoder().decode(head).trimStart();
  if (/^[{[]/.test(text)) return 'ndjson';
  return /[,;\t|]/.test(text.split('\n', 1)[0] ?? '') ? 'csv' : undefined;
}
