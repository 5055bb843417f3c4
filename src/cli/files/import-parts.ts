import { ServiceError } from '../../errors/service-error.ts';
import { startsWithSchema } from '../../formats/arrow/arrow-messages.ts';
import { detectFormat } from '../../formats/format.ts';
import type { Format } from '../../formats/format.ts';
import type { Input } from '../../formats/input.ts';
import { openReader } from '../../formats/open-reader.ts';
import type { Column, ColumnChoice, ReadOptions, Reader } from '../../formats/open-reader.ts';
import { splitArrow, readParts } from '../../formats/parts.ts';
import type { Part } from '../../formats/parts.ts';
import { withInput } from './local-files.ts';
import type { InputFile } from './local-files.ts';

export interface PartOptions extends ReadOptions {
  /** Maximum rows per request. */
  readonly partRows: number;
  /** The table's types by column; those of the first file if there is no table. */
  readonly tableTypes: ReadonlyMap<string, string>;
  /** Whether these were detected in the first file. */
  readonly areDetected?: boolean;
}

/** A file as it will be sent. */
export interface PlannedFile {
  readonly format: Format;
  readonly rowCount: number | undefined;
  /** As far as they are known: for Arrow that is passed on unchanged, only those with types that can be read here. */
  readonly columns: readonly Column[];
  readonly sourceColumns: readonly Column[];
  parts(): AsyncGenerator<Part>;
}

/** Below the server's chunk size of 32 MiB, so that a part is one commit. */
const PART_BYTES = 24 * 1024 * 1024;
const BATCH_ROWS = 16_384;

/** The file stays open while `work` runs. */
export async function withPlan<Value>(
  file: InputFile,
  options: PartOptions,
  work: (plan: PlannedFile) => Promise<Value>,
): Promise<Value> {
  return withInput(file, async (input) => {
    try {
      return await work(await planFile(input, file, options));
    } catch (error) {
      throw error instanceof ServiceError ? inFile(error, file) : error;
    }
  });
}

/** Passes the parts of a file to `send`. */
export async function eachPart(
  file: InputFile,
  options: PartOptions,
  send: (part: Part) => Promise<void>,
): Promise<void> {
  await withPlan(file, options, async (plan) => {
    for await (const part of plan.parts()) await send(part);
  });
}

async function planFile(input: Input, file: InputFile, options: PartOptions): Promise<PlannedFile> {
  const format = options.format ?? (await detectFormat(input, file.path));
  const read = { ...options, format, name: file.path, batchRows: Math.min(options.partRows, BATCH_ROWS) };
  const isPassedOn = await mayBePassedOn(input, read);
  const reader = await openWithTable(input, read).catch((error: unknown) => {
    if (isPassedOn) return undefined;
    throw error;
  });
  if (reader === undefined || (isPassedOn && isAsInFile(reader))) {
    const { columns = [], sourceColumns = [] } = reader ?? {};
    const parts = (): AsyncGenerator<Part> => splitArrow(input, { bytes: PART_BYTES });
    return { format, rowCount: undefined, columns, sourceColumns, parts };
  }
  const bounds = { rows: options.partRows, bytes: PART_BYTES };
  return { ...reader, parts: () => readParts(reader, bounds) };
}

async function openWithTable(input: Input, options: PartOptions): Promise<Reader> {
  const reader = await openReader(input, options);
  const columns = withTableTypes(reader, options);
  return columns === undefined ? reader : openReader(input, { ...options, columns });
}

/** Arrow with unchanged columns and batches is not parsed: the server supports more of it than this reader. */
async function mayBePassedOn(input: Input, { format, columns = [], partRows }: PartOptions): Promise<boolean> {
  if (format !== 'arrow' || columns.length > 0 || partRows !== Number.MAX_SAFE_INTEGER) return false;
  return startsWithSchema(input);
}

function isAsInFile({ columns, sourceColumns }: Reader): boolean {
  return columns.every(({ type }, index) => type === sourceColumns[index]?.type);
}

function inFile({ kind, message, hint, cause }: ServiceError, file: InputFile): ServiceError {
  return new ServiceError(kind, `${file.path}: ${message}`, { ...(hint === undefined ? {} : { hint }), cause });
}

/**
 * Text columns take the type of the table's column, and lists become vectors where the table has vectors, unless the
 * caller chose another type.
 */
function withTableTypes(
  reader: Reader,
  { columns = [], tableTypes, areDetected: isDetected }: PartOptions,
): readonly ColumnChoice[] | undefined {
  if (tableTypes.size === 0) return undefined;
  const isText = reader.format === 'csv' || reader.format === 'ndjson';
  const chosen = new Map(columns.map((choice) => [choice.source, choice]));
  for (const { source, name } of reader.columns) {
    const choice = chosen.get(source);
    const type = tableTypes.get(name);
    if (type === undefined || choice?.type !== undefined || choice?.vector !== undefined) continue;
    const isList = reader.sourceColumns.some((each) => each.source === source && each.type.startsWith('list<'));
    if (!isText && !isList) continue;
    const isVector = VECTOR.test(type);
    const rule = isText || isVector ? { type } : { vector: false };
    chosen.set(source, { ...choice, source, ...rule, isDetected, reason: 'as in the table' });
  }
  return [...chosen.values()];
}

const VECTOR = /^float(?:16|32|64)\[\d+\]$/;
