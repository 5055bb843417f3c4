import type { Query } from '../../model/query.ts';
import type { Schema } from '../../model/schema.ts';
import type { TableState } from '../../model/table.ts';
import { engineCall } from '../native/engine-errors.ts';
import type { NativeBatches, NativeQuery, NativeTable } from '../native/native.ts';
import type { EngineParts } from '../parts.ts';
import { searchColumn } from '../queries/full-text-query.ts';
import { planQuery } from '../queries/native-query.ts';
import type { ReadLease } from '../queries/read-memory.ts';
import { reserveMemory } from '../queries/result-batches.ts';
import { toOpenTable } from '../tables/table-handle.ts';
import type { RowRange } from './compare-plan.ts';

/** A version that is open, and protected from cleanup, until it is closed. */
export interface OpenVersion {
  readonly native: NativeTable;
  readonly version: number;
  readonly schema: Schema;
  close(): void;
}

export async function openVersion({ tables, readers }: EngineParts, state: TableState): Promise<OpenVersion> {
  const { version, schema } = await tables.describe(state);
  const { location, branch } = state;
  const release = readers.hold(location, version);
  try {
    const native = await tables.openPrivate({ location, branch, version });
    const close = (): void => {
      release();
      native.close();
    };
    return { native, version, schema, close };
  } catch (error) {
    release();
    throw error;
  }
}

/** Tells work that is no longer needed to end at its next step. */
export interface Stop {
  isStopped: boolean;
}

/** How the rows of a version are read. */
export interface RowReading {
  readonly native: NativeTable;
  /** `undefined` for all. For named columns, the engine needs time that grows with the square of their number. */
  readonly columns: readonly string[] | undefined;
  readonly batchRows: number;
  readonly stop: Stop;
}

/** Reserves the memory of a scan. */
export async function prepareReading(
  parts: EngineParts,
  { native, version, schema }: OpenVersion,
  wanted: readonly string[],
  { lease, stop }: { readonly lease: ReadLease; readonly stop: Stop },
): Promise<RowReading> {
  const columns = wanted.length === schema.fields.length ? undefined : wanted;
  const query: Query = {
    vectors: [],
    prefilter: true,
    bypassVectorIndex: false,
    fastSearch: false,
    withRowId: true,
    ...(columns && { projection: { kind: 'names', paths: columns.map((name) => [name] as const) } }),
  };
  const plan = await planQuery(parts, toOpenTable(native, version), query);
  return { native, columns, batchRows: await reserveMemory(parts, native, plan, { lease }), stop };
}

/** Above this, naming columns takes longer than also reading the others. */
const NAMED_MAX = 100;

/** Reads only these columns, unless naming them takes longer than also reading the others. */
export function narrow(reading: RowReading, { schema }: OpenVersion, columns: readonly string[]): RowReading {
  const isWhole = reading.columns === undefined;
  const keepsAll = columns.length > NAMED_MAX || columns.length === schema.fields.length;
  return isWhole && keepsAll ? reading : { ...reading, columns };
}

/** Files with the columns and `_rowid`, in scan order. The engine reads nothing outside the range. */
export function scanRows({ native, columns, batchRows, stop }: RowReading, range: RowRange): AsyncGenerator<Buffer> {
  const query = native.query();
  selectRows(query, columns);
  limitTo(query, range);
  return readFiles(async () => query.execute(batchRows, null), stop);
}

/** In order of ids. */
export async function* takeRows(
  { native, columns, batchRows, stop }: RowReading,
  ids: Pick<readonly bigint[], 'length' | 'slice'>,
): AsyncGenerator<Buffer> {
  for (let from = 0; from < ids.length; from += batchRows) {
    const query = native.takeRowIds(ids.slice(from, from + batchRows));
    selectRows(query, columns);
    yield* readFiles(async () => query.execute(batchRows, null), stop);
  }
}

function selectRows(
  query: Pick<NativeQuery, 'selectColumns' | 'withRowId'>,
  columns: readonly string[] | undefined,
): void {
  if (columns !== undefined) query.selectColumns(columns.map((name) => searchColumn([name])));
  query.withRowId();
}

const ADDRESSES_AT_ONCE = 8192;

/** Files with `_rowaddr` and `_rowid`, in scan order. No data file is read. */
export function scanAddresses(native: NativeTable, range: RowRange, stop: Stop): AsyncGenerator<Buffer> {
  const query = native.query();
  query.selectColumns(['_rowaddr']);
  query.withRowId();
  limitTo(query, range);
  return readFiles(async () => query.execute(ADDRESSES_AT_ONCE, null), stop);
}

function limitTo(query: NativeQuery, { start, count }: RowRange): void {
  query.limit(count);
  query.offset(start);
}

async function* readFiles(start: () => Promise<NativeBatches>, stop: Stop): AsyncGenerator<Buffer> {
  const batches = await engineCall(start);
  for (;;) {
    if (stop.isStopped) throw new Error('this comparison is no longer wanted');
    const file = await engineCall(async () => batches.next());
    if (file === null) return;
    yield file;
  }
}
