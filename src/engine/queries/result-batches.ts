import { findFixedWidth } from '../../arrow/format/column-layout.ts';
import { resolveField } from '../../model/field-path.ts';
import type { Query } from '../../model/query.ts';
import type { DataType, Schema } from '../../model/schema.ts';
import { engineCall } from '../native/engine-errors.ts';
import type { NativeQuery, NativeTable } from '../native/native.ts';
import type { QueryPlan } from './native-query.ts';

const ROWS_MAX = 8192;
const ROWS_UNKNOWN = 1024;
/** Results of so few rows are small, however wide the rows are. */
const FEW_ROWS = 16;

/** The rows in a batch of about that many bytes. The engine limits batches by rows only. */
export async function chooseBatchRows(table: NativeTable, plan: QueryPlan, batchBytes: number): Promise<number> {
  const { query, schema } = plan;
  if (query.k !== undefined && query.k <= FEW_ROWS) {
    // A search also reads in batches of this size: small ones make it ten times slower.
    return plan.vectorColumn === undefined && plan.search === undefined ? ROWS_UNKNOWN : ROWS_MAX;
  }
  const rowBytes = knownRowBytes(query, schema) ?? (await averageRowBytes(table));
  if (rowBytes === undefined) return ROWS_UNKNOWN;
  return Math.min(Math.max(Math.floor(batchBytes / Math.max(rowBytes, 1)), 1), ROWS_MAX);
}

/** `undefined` when there are texts, lists, or expressions of any type. */
function knownRowBytes({ projection }: Query, schema: Schema): number | undefined {
  if (projection?.kind === 'aliases') return undefined;
  const types =
    projection === undefined
      ? schema.fields.map(({ type }) => type)
      : projection.paths.map((path) => resolveField(schema, path)?.type ?? ROW_NUMBER);
  return sum(types.map(valueBytes));
}

/** Of columns that the engine adds. */
const ROW_NUMBER: DataType = { kind: 'int', bits: 64, signed: false };

function valueBytes(type: DataType): number | undefined {
  switch (type.kind) {
    case 'null':
    case 'bool':
      return 1;
    case 'struct':
      return sum(type.children.map((child) => valueBytes(child.type)));
    case 'fixed-size-list': {
      const item = valueBytes(type.item.type);
      return item === undefined ? undefined : item * type.length;
    }
    case 'interval':
      return 16;
    default:
      return findFixedWidth(type);
  }
}

function sum(values: readonly (number | undefined)[]): number | undefined {
  return values.reduce((total, value) => (total === undefined || value === undefined ? undefined : total + value), 0);
}

/** Stored rows are compressed, and may be far smaller than those that are sent. */
const VARIABLE_ROW_BYTES_MIN = 2048;

async function averageRowBytes(table: NativeTable): Promise<number | undefined> {
  const { totalBytes, numRows } = await engineCall(async () => table.stats());
  return numRows === 0 ? undefined : Math.max(totalBytes / numRows, VARIABLE_ROW_BYTES_MIN);
}

/** Runs a query for its effect or its failure; the rows are dropped. */
export async function runToEnd(build: () => NativeQuery, seconds: number): Promise<void> {
  await engineCall(async () => {
    const batches = await build().execute(ROWS_MAX, Math.ceil(seconds * 1000));
    while ((await batches.next()) !== null);
  });
}
