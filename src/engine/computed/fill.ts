import { readFixedColumn } from '../../arrow/results/row-picker.ts';
import { invalidInput } from '../../errors/service-error.ts';
import { quotePath, requireField, sqlFieldReference } from '../../model/field-path.ts';
import type { GuardedSql } from '../../model/query.ts';
import type { Schema } from '../../model/schema.ts';
import type { CommitPlan } from '../commits/commit-plan.ts';
import { engineCall } from '../native/engine-errors.ts';
import type { NativeTable } from '../native/native.ts';
import type { EngineParts } from '../parts.ts';
import type { OpenTable } from '../tables/table-handle.ts';
import { readSize } from '../queries/result-batches.ts';
import { toTypedValue } from '../updates/assignments.ts';
import { useExactNames } from '../workarounds/exact-names.ts';
import { keepNullStructs } from '../workarounds/filtered-scans.ts';
import { findComputed } from './definitions.ts';
import type { ComputedColumn } from './definitions.ts';

/** One step of a backfill. */
export interface FillRequest {
  readonly column: string;
  /** Restricts the step to rows that match. */
  readonly where: GuardedSql | undefined;
  /** Rows before this address are already filled. */
  readonly fromAddress: bigint;
  /** The approximate size of the rows of one step. */
  readonly bytesMax: number;
}

export interface FilledRows {
  readonly rowsFilled: number;
  /** Where the next step continues; `undefined` if nothing is left after `fromAddress`. */
  readonly nextAddress: string | undefined;
}

/**
 * Computes the column in some of the rows where it is null and its definition has a value: rows that existed before the
 * column. All other writes compute it themselves, so filled rows stay correct.
 */
export function planFill(parts: EngineParts, request: FillRequest): CommitPlan<FilledRows> {
  return {
    kinds: ['update'],
    async prepare(table) {
      const schema = await table.schema();
      const column = requireComputed(parts, schema, request.column);
      const predicate = toOpenRows(column, useExactNames(schema, request.where));
      const range = await findRange(table.native, predicate, request);
      if (range === undefined) {
        const outcome = { rowsFilled: 0, nextAddress: undefined };
        return { expected: outcome, commit: async () => ({ version: await table.version(), outcome }) };
      }
      const inRange = `(${predicate} AND _rowaddr >= ${range.first} AND _rowaddr <= ${range.last})`;
      const guarded = keepNullStructs(inRange, schema, parts.release);
      const value = toTypedValue(column.expression, column.field, [column.field.name]);
      return {
        async commit() {
          const update = async () => table.native.update(guarded, [[column.field.name, value]]);
          const { rowsUpdated, version } = await engineCall(update);
          table.moved(version);
          return { version, outcome: { rowsFilled: rowsUpdated, nextAddress: String(range.last + 1n) } };
        },
      };
    },
  };
}

/** Refuses a column that is not computed, and a condition that the engine cannot plan; returns what is to be filled. */
export async function planOpenRows(
  parts: EngineParts,
  table: OpenTable,
  { column, where }: Pick<FillRequest, 'column' | 'where'>,
): Promise<string> {
  const schema = await table.schema();
  const predicate = toOpenRows(requireComputed(parts, schema, column), useExactNames(schema, where));
  const query = table.native.query();
  query.onlyIf(predicate);
  await engineCall(async () => query.explainPlan(false));
  return predicate;
}

function requireComputed({ sqlLimits }: EngineParts, schema: Schema, name: string): ComputedColumn {
  requireField(schema, [name]);
  const column = findComputed(schema, sqlLimits).find(({ field }) => field.name === name);
  if (column !== undefined) return column;
  throw invalidInput(
    `The column ${quotePath([name])} is not computed.`,
    'Only columns that were added with "computed" can be filled.',
  );
}

function toOpenRows({ field, expression }: ComputedColumn, where: GuardedSql | undefined): string {
  const isOpen = `${sqlFieldReference([field.name])} IS NULL AND ${expression} IS NOT NULL`;
  return where === undefined ? isOpen : `${isOpen} AND ${where}`;
}

const ROWS_MAX = 100_000;
const BATCH_ROWS = 8192;
const ADDRESS_BYTES = 8;

interface AddressRange {
  readonly first: bigint;
  readonly last: bigint;
}

/** Within a fragment, a scan returns rows in address order; merged fragments may come earlier. */
function widen(range: AddressRange | undefined, addresses: readonly bigint[]): AddressRange | undefined {
  return addresses.reduce<AddressRange | undefined>((wider, address) => {
    if (wider === undefined) return { first: address, last: address };
    return { first: address < wider.first ? address : wider.first, last: address > wider.last ? address : wider.last };
  }, range);
}

/** The addresses that the step covers. */
async function findRange(native: NativeTable, predicate: string, { fromAddress, bytesMax }: FillRequest) {
  const { rows, bytes } = await readSize(native);
  const rowsMax = Math.max(1, Math.min(ROWS_MAX, Math.floor((bytesMax * rows) / Math.max(bytes, 1))));
  const query = native.query();
  query.onlyIf(`(${predicate} AND _rowaddr >= ${fromAddress})`);
  query.selectColumns(['_rowaddr']);
  query.limit(rowsMax);
  let range: AddressRange | undefined;
  const batches = await engineCall(async () => query.execute(BATCH_ROWS, null));
  for (;;) {
    const file = await engineCall(async () => batches.next());
    if (file === null) return range;
    const found = readFixedColumn(file, '_rowaddr');
    if (found.rows === 0) continue;
    const ends = [0, (found.rows - 1) * ADDRESS_BYTES].map((offset) => found.values.readBigUInt64LE(offset));
    range = widen(range, ends);
  }
}
