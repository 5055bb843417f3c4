import { setImmediate as nextTurn } from 'node:timers/promises';

/** This many rows take a millisecond or two; then other requests get their turn. */
const ROWS_AT_ONCE = 2048;

export async function visitInTurns<Row>(rows: readonly Row[], visit: (row: Row, index: number) => void): Promise<void> {
  for (const [index, row] of rows.entries()) {
    visit(row, index);
    if ((index + 1) % ROWS_AT_ONCE === 0) await nextTurn();
  }
}

export async function idsInTurns(rows: readonly { readonly id: bigint }[]): Promise<bigint[]> {
  const ids: bigint[] = [];
  await visitInTurns(rows, ({ id }) => ids.push(id));
  return ids;
}

/** Stable, as `toSorted`. */
export async function sortInTurns<Row>(
  rows: readonly Row[],
  compare: (left: Row, right: Row) => number,
): Promise<readonly Row[]> {
  if (rows.length <= ROWS_AT_ONCE) return rows.toSorted(compare);
  const middle = rows.length >> 1;
  const left = await sortInTurns(rows.slice(0, middle), compare);
  const right = await sortInTurns(rows.slice(middle), compare);
  const merged: Row[] = [];
  for (let [one, other] = [0, 0]; merged.length < rows.length;) {
    const [first, second] = [left[one], right[other]];
    if (first !== undefined && (second === undefined || compare(first, second) <= 0)) {
      merged.push(first);
      one += 1;
    } else if (second !== undefined) {
      merged.push(second);
      other += 1;
    }
    if (merged.length % ROWS_AT_ONCE === 0) await nextTurn();
  }
  return merged;
}

/** Values by row id, in 64 maps: one of a million takes a tenth of a second each time that it grows. */
export class IdMap<Value> {
  readonly #parts: Map<bigint, Value>[] = [];

  get(id: bigint): Value | undefined {
    return this.#parts[toPart(id)]?.get(id);
  }

  set(id: bigint, value: Value): void {
    (this.#parts[toPart(id)] ??= new Map()).set(id, value);
  }
}

/** The root makes the parts differ in size: equal ones would all grow at the same time. */
function toPart(id: bigint): number {
  return Math.floor(Math.sqrt(Number(BigInt.asUintN(12, id))));
}
