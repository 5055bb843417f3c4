import { isValid, readColumns } from '../arrow/result-columns.ts';
import type { ResultColumn } from '../arrow/result-columns.ts';
import { readResultFile } from '../arrow/result-file.ts';
import { readFileSchema } from '../arrow/schema-file.ts';
import { ServiceError } from '../errors/service-error.ts';

/** The rows of a batch that the engine answered, each as texts: whole numbers in digits, texts as they are. */
export function* readKeyRows(file: Buffer): Generator<readonly string[]> {
  const { fields } = readFileSchema(file);
  for (const { header, body } of readResultFile(file).batches) {
    const columns = readColumns(header, header.table, fields, body);
    const length = columns[0]?.length ?? 0;
    for (let row = 0; row < length; row += 1) yield columns.map((column) => readKey(column, row));
  }
}

function readKey(column: ResultColumn, row: number): string {
  const { type, buffers } = column;
  const [values, texts] = buffers;
  if (values === undefined || !isValid(column, row)) throw unreadable();
  if (type.kind === 'int') return readInteger(values, row, type);
  if (type.kind !== 'utf8' || texts === undefined) throw unreadable();
  return texts.toString('utf8', readOffset(values, row, type.layout), readOffset(values, row + 1, type.layout));
}

function readInteger(
  values: Buffer,
  row: number,
  { bits, signed }: { readonly bits: 8 | 16 | 32 | 64; readonly signed: boolean },
): string {
  const at = (row * bits) / 8;
  if (bits === 64) return String(signed ? values.readBigInt64LE(at) : values.readBigUInt64LE(at));
  return String(signed ? values.readIntLE(at, bits / 8) : values.readUIntLE(at, bits / 8));
}

function readOffset(offsets: Buffer, row: number, layout: 'plain' | 'large' | 'view'): number {
  if (layout === 'view') throw unreadable();
  return layout === 'plain' ? offsets.readInt32LE(row * 4) : Number(offsets.readBigInt64LE(row * 8));
}

function unreadable(): ServiceError {
  return new ServiceError('Internal', 'A result of the storage engine could not be read.');
}
