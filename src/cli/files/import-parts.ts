import { ServiceError } from '../../errors/service-error.ts';
import { openReader } from '../../formats/open-reader.ts';
import type { ColumnChoice, ReadOptions, Reader } from '../../formats/open-reader.ts';
import { readParts } from '../../formats/read-parts.ts';
import type { Part } from '../../formats/read-parts.ts';
import { withInput } from './file-input.ts';
import type { InputFile } from './file-input.ts';

export interface PartOptions extends ReadOptions {
  /** Rows of a request at most. */
  readonly partRows: number;
  /** Types of the table by column; text has no types of its own. */
  readonly tableTypes: ReadonlyMap<string, string>;
}

/** Below the server's chunk of 32 MiB, so that a part is one commit. */
const PART_BYTES = 24 * 1024 * 1024;
const BATCH_ROWS = 16_384;

/** Hands the parts of a file to `send`, and gives the reader for its columns. */
export async function eachPart(
  file: InputFile,
  options: PartOptions,
  send: (part: Part) => Promise<void>,
): Promise<Reader> {
  return withInput(file, async (input) => {
    try {
      const read = { ...options, name: file.path, batchRows: Math.min(options.partRows, BATCH_ROWS) };
      const guessed = await openReader(input, read);
      const columns = withTableTypes(guessed, options);
      const reader = columns === undefined ? guessed : await openReader(input, { ...read, columns });
      const bounds = { rows: options.partRows, bytes: PART_BYTES };
      for await (const part of readParts(reader, bounds)) await send(part);
      return reader;
    } catch (error) {
      throw error instanceof ServiceError ? inFile(error, file) : error;
    }
  });
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
