import { writeValues } from '../../arrow/results/json-rows.ts';
import { ServiceError } from '../../errors/service-error.ts';
import type { Field } from '../../model/schema.ts';
import { engineCall } from '../native/engine-errors.ts';
import type { NativeQuery, NativeTable } from '../native/native.ts';

/** By key as JSON. Keys without rows are omitted. */
export type KeyCounts = ReadonlyMap<string, number>;

/** Selects rows by the value of one column. */
interface KeyScan {
  readonly keyField: Field;
  readonly predicate: string;
}

/** `undefined` if more rows match. */
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
 * The rows of each key that an update wrote, in the version that it committed. They are in new fragments with higher
 * numbers than all earlier ones, so this holds whatever other writers did and whichever version the update read.
 */
export async function countWrittenKeys(native: NativeTable, scan: KeyScan, rowsWritten: number): Promise<KeyCounts> {
  const query = native.query();
  query.onlyIf(scan.predicate);
  query.selectColumns([scan.keyField.name, '_rowaddr']);
  const fragments = new Map<bigint, string[]>();
  for await (const [key = '', address = ''] of readRows(query)) {
    const fragment = BigInt(address) >> 32n;
    const keys = fragments.get(fragment) ?? [];
    keys.push(key);
    fragments.set(fragment, keys);
  }
  const newestFirst = [...fragments].toSorted(([one], [other]) => (one < other ? 1 : -1));
  const counts = new Map<string, number>();
  let rows = 0;
  for (const [, keys] of newestFirst) {
    if (rows >= rowsWritten) break;
    for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1);
    rows += keys.length;
  }
  if (rows === rowsWritten) return counts;
  throw new ServiceError('Internal', 'The rows of an update could not be counted.');
}

const BATCH_ROWS = 1024;
const NO_TIMEOUT = -1;

/** Each value as JSON. */
async function* readRows(query: NativeQuery): AsyncGenerator<readonly string[]> {
  const batches = await engineCall(async () => query.execute(BATCH_ROWS, NO_TIMEOUT));
  for (;;) {
    const file = await engineCall(async () => batches.next());
    if (file === null) return;
    yield* writeValues(file);
  }
}
