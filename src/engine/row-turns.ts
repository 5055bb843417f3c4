import { setImmediate as nextTurn } from 'node:timers/promises';

/** This many rows take a millisecond or two; then other requests get a turn. */
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

/** Stable, like `toSorted`. */
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
