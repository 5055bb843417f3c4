import { ServiceError } from '../../errors/service-error.ts';
import { startsWithSchema } from '../../formats/arrow/arrow-messages.ts';
import { detectFormat } from '../../formats/format.ts';
import type { Input } from '../../formats/input.ts';
import { openReader } from '../../formats/open-reader.ts';
import type { Column, ColumnChoice, ReadOptions, Reader } from '../../formats/open-reader.ts';
import { splitArrow, readParts } from '../../formats/parts.ts';
import type { Part } from '../../formats/parts.ts';
import { withInput } from './local-files.ts';
import type { InputFile } from './local-files.ts';

export interface PartOptions extends ReadOptions {
  /** Rows of a request at most. */
  readonly partRows: number;
  /** Types of the table by column, for CSV and NDJSON. */
  readonly tableTypes: ReadonlyMap<string, string>;
}

/** Below the server's chunk of 32 MiB: a part is one commit. */
const PART_BYTES = 24 * 1024 * 1024;
const BATCH_ROWS = 16_384;

/** Hands the parts of a file to `send`, and gives its columns as far as they are known here. */
export async function eachPart(
  file: InputFile,
  options: PartOptions,
  send: (part: Part) => Promise<void>,
): Promise<readonly Column[]> {
  return withInput(file, async (input) => {
    try {
      if (await isPassedOn(input, file, options)) {
        for await (const part of splitArrow(input, { bytes: PART_BYTES })) await send(part);
        return await knownColumns(input);
      }
      const read = { ...options, name: file.path, batchRows: Math.min(options.partRows, BATCH_ROWS) };
      const guessed = await openReader(input, read);
      const columns = withTableTypes(guessed, options);
      const reader = columns === undefined ? guessed : await openReader(input, { ...read, columns });
      const bounds = { rows: options.partRows, bytes: PART_BYTES };
      for await (const part of readParts(reader, bounds)) await send(part);
      return reader.columns;
    } catch (error) {
      throw error instanceof ServiceError ? inFile(error, file) : error;
    }
  });
}

/** Arrow whose columns and batches stay as they are needs no reading: the server takes more of it than can be read here. */
async function isPassedOn(
  input: Input,
  file: InputFile,
  { format, columns = [], partRows }: PartOptions,
): Promise<boolean> {
  if (columns.length > 0 || partRows !== Number.MAX_SAFE_INTEGER) return false;
  return (format ?? (await detectFormat(input, file.path))) === 'arrow' && startsWithSchema(input);
}

/** None, where there is a type among them that is not read here. */
async function knownColumns(input: Input): Promise<readonly Column[]> {
  try {
    return (await openReader(input, { format: 'arrow' })).columns;
  } catch {
    return [];
  }
}

function inFile({ kind, message, hint, cause }: ServiceError, file: InputFile): ServiceError {
  return new ServiceError(kind, `${file.path}: ${message}`, { ...(hint === undefined ? {} : { hint }), cause });
}

/** Columns of text take the type of the table's column, unless the caller chose another. */
function withTableTypes(
  reader: Reader,
  { columns = [], tableTypes }: PartOptions,
): readonly ColumnChoice[] | undefined {
  if (tableTypes.size === 0 || (reader.format !== 'csv' && reader.format !== 'ndjson')) return undefined;
  const chosen = new Map(columns.map((choice) => [choice.source, choice]));
  for (const { source, name } of reader.columns) {
    const choice = chosen.get(source);
    const type = choice?.type ?? tableTypes.get(name);
    if (type !== undefined) chosen.set(source, { ...choice, source, type });
  }
  return [...chosen.values()];
}
