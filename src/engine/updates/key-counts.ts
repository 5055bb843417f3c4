import { ServiceError } from '../../errors/service-error.ts';
import type { Field } from '../../model/schema.ts';
import { engineCall } from '../native/engine-errors.ts';
import type { NativeQuery, NativeTable } from '../native/native.ts';
import { isValid, readColumns } from '../../arrow/results/result-columns.ts';
import type { ResultColumn } from '../../arrow/results/result-columns.ts';
import { readResultFile } from '../../arrow/results/result-file.ts';
import { readFileSchema } from '../../arrow/schema/schema-reader.ts';

/** How many rows each key has; one without rows is not in it. */
export type KeyCounts = ReadonlyMap<string, number>;

/** Rows by the value of one column. */
export interface KeyScan {
  readonly keyField: Field;
  readonly predicate: string;
}

/** `undefined` when more than so many rows match. */
export async function countKeys(
  native: NativeTable,
  { keyField, predicate }: KeyScan,
  rowsMax: number,
): Promise<KeyCounts | undefined> {
  const query = native.query();
  query.onlyIf(predicate);
  query.selectColumns([keyField.name]);
  query.limit(rowsMax + 1);
  const counts = new Map<string, number>();
  let rows = 0;
  for await (const [key = ''] of readRows(query)) {
    counts.set(key, (counts.get(key) ?? 0) + 1);
    rows += 1;
  }
  return rows > rowsMax ? undefined : counts;
}

/**
 * Of a version that an update made: how many rows of each key it wrote. Those are in fragments of their own, whose
 * numbers are above all that were there before. So this holds whatever other writers did, and whichever version it was
 * that the update read.
 */
export async function countWrittenKeys(native: NativeTable, scan: KeyScan, rowsWritten: number): Promise<KeyCounts> {
  const query = native.query();
  query.onlyIf(scan.predicate);
  query.selectColumns([scan.keyField.name, '_rowaddr']);
  const fragments = new Map<bigint, Map<string, number>>();
  for await (const [key = '', address = ''] of readRows(query)) {
    const fragment = BigInt(address) >> 32n;
    const counts = fragments.get(fragment) ?? new Map<string, number>();
    counts.set(key, (counts.get(key) ?? 0) + 1);
    fragments.set(fragment, counts);
  }
  const newestFirst = [...fragments].toSorted(([one], [other]) => (one < other ? 1 : -1));
  return sumUpTo(
    newestFirst.map(([, counts]) => counts),
    rowsWritten,
  );
}

function sumUpTo(fragments: readonly KeyCounts[], rowsWanted: number): KeyCounts {
  const sums = new Map<string, number>();
  let rows = 0;
  for (const counts of fragments) {
    if (rows >= rowsWanted) break;
    for (const [key, count] of counts) {
      sums.set(key, (sums.get(key) ?? 0) + count);
      rows += count;
    }
  }
  if (rows === rowsWanted) return sums;
  throw new ServiceError('Internal', 'The rows of an update could not be counted.');
}

const BATCH_ROWS = 1024;
const NO_TIMEOUT = -1;

async function* readRows(query: NativeQuery): AsyncGenerator<readonly string[]> {
  const batches = await engineCall(async () => query.execute(BATCH_ROWS, NO_TIMEOUT));
  for (;;) {
    const file = await engineCall(async () => batches.next());
    if (file === null) return;
    yield* readKeyRows(file);
  }
}

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
