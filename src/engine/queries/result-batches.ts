import { fixedWidthBytes } from '../../arrow/format/column-layout.ts';
import { resolveField } from '../../model/field-path.ts';
import type { Query } from '../../model/query.ts';
import type { DataType, Schema } from '../../model/schema.ts';
import { engineCall } from '../native/engine-errors.ts';
import type { QueryPlan } from './native-query.ts';
import type { NativeQuery, NativeTable } from '../native/native.ts';

const ROWS_MAX = 8192;
const ROWS_UNKNOWN = 1024;
/** Results of so few rows are small, whatever the table holds. */
const FEW_ROWS = 16;

/** How many rows make a batch of about that many bytes. The engine knows no other measure than rows. */
export async function chooseBatchRows(table: NativeTable, plan: QueryPlan, batchBytes: number): Promise<number> {
  const { query, schema } = plan;
  // The rows that are searched come in batches of this size too: small ones make a search ten times slower.
  if (query.k !== undefined && query.k <= FEW_ROWS) return isSearch(plan) ? ROWS_MAX : ROWS_UNKNOWN;
  const rowBytes = knownRowBytes(query, schema) ?? (await averageRowBytes(table));
  if (rowBytes === undefined) return ROWS_UNKNOWN;
  return Math.min(Math.max(Math.floor(batchBytes / Math.max(rowBytes, 1)), 1), ROWS_MAX);
}

function isSearch({ vectorColumn, search }: QueryPlan): boolean {
  return vectorColumn !== undefined || search !== undefined;
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

/** Of the columns that a query adds. */
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
    case 'utf8':
    case 'binary':
    case 'list':
    case 'map':
    case 'dictionary':
    case 'union':
    case 'run-end-encoded':
      return undefined;
    case 'interval':
      return 16;
    default:
      return fixedWidthBytes(type);
  }
}

function sum(values: readonly (number | undefined)[]): number | undefined {
  let total = 0;
  for (const value of values) {
    if (value === undefined) return undefined;
    total += value;
  }
  return total;
}

/** What is stored is compressed, and may be far smaller than what is sent. */
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
