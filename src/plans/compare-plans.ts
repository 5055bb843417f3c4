import type { PlanStep } from '../model/query.ts';
import { figureOf, listSteps, ownTimes, placeSteps, resultRows, totalTime } from './plan-steps.ts';
import type { PlacedStep } from './plan-steps.ts';

/** `ratio` is second divided by first; `undefined` if first is 0. */
export interface Pair {
  readonly first: number;
  readonly second: number;
  readonly ratio: number | undefined;
}

/** Two corresponding steps, or one that occurs in only one plan. */
export interface StepPair {
  readonly depth: number;
  readonly first: PlanStep | undefined;
  readonly second: PlanStep | undefined;
  /** Self time in nanoseconds. */
  readonly time: Pair;
  readonly rows: Pair;
}

export interface PlanComparison {
  /** Nanoseconds of the whole query. */
  readonly time: Pair;
  readonly rows: Pair;
  readonly rowsRead: Pair;
  readonly bytesRead: Pair;
  readonly reads: Pair;
  readonly steps: readonly StepPair[];
}

export function comparePlans(first: PlanStep, second: PlanStep): PlanComparison {
  return {
    time: toPair(totalTime(first), totalTime(second)),
    rows: toPair(resultRows(first), resultRows(second)),
    rowsRead: toPair(sumOf(first, 'rows_scanned'), sumOf(second, 'rows_scanned')),
    bytesRead: toPair(sumOf(first, 'bytes_read'), sumOf(second, 'bytes_read')),
    reads: toPair(sumOf(first, 'iops'), sumOf(second, 'iops')),
    steps: alignSteps(first, second),
  };
}

function sumOf(root: PlanStep, name: string): number {
  return listSteps(root).reduce((sum, step) => sum + figureOf(step, name), 0);
}

function toPair(first: number, second: number): Pair {
  return { first, second, ratio: first === 0 ? undefined : second / first };
}

/** Aligns the plans in display order, by the longest common subsequence of their operators. */
function alignSteps(first: PlanStep, second: PlanStep): readonly StepPair[] {
  const [left, right] = [placeSteps(first), placeSteps(second)];
  const times = new Map([...ownTimes(first), ...ownTimes(second)]);
  const timeOf = (placed: PlacedStep | undefined): number => (placed === undefined ? 0 : (times.get(placed.step) ?? 0));
  const pair = (one: PlacedStep | undefined, other: PlacedStep | undefined): StepPair => ({
    depth: (one ?? other)?.depth ?? 0,
    first: one?.step,
    second: other?.step,
    time: toPair(timeOf(one), timeOf(other)),
    rows: toPair(figureOf(one?.step, 'output_rows'), figureOf(other?.step, 'output_rows')),
  });
  const lengths = commonLengths(left, right);
  const pairs: StepPair[] = [];
  let [row, column] = [0, 0];
  while (row < left.length || column < right.length) {
    const [one, other] = [left[row], right[column]];
    const isSame = one !== undefined && one.step.operator === other?.step.operator;
    const isFirst = isSame || other === undefined || at(lengths, row + 1, column) >= at(lengths, row, column + 1);
    const [takesOne, takesOther] = [one !== undefined && isFirst, isSame || one === undefined || !isFirst];
    pairs.push(pair(takesOne ? one : undefined, takesOther ? other : undefined));
    if (takesOne) row += 1;
    if (takesOther) column += 1;
  }
  return pairs;
}

/** The length of the longest common subsequence starting at each pair of positions. */
function commonLengths(left: readonly PlacedStep[], right: readonly PlacedStep[]): readonly Uint32Array[] {
  const lengths = Array.from({ length: left.length + 1 }, () => new Uint32Array(right.length + 1));
  for (let row = left.length - 1; row >= 0; row -= 1) {
    for (let column = right.length - 1; column >= 0; column -= 1) {
      const isSame = left[row]?.step.operator === right[column]?.step.operator;
      const longest = Math.max(at(lengths, row + 1, column), at(lengths, row, column + 1));
      const line = lengths[row];
      if (line !== undefined) line[column] = isSame ? at(lengths, row + 1, column + 1) + 1 : longest;
    }
  }
  return lengths;
}

function at(lengths: readonly Uint32Array[], row: number, column: number): number {
  return lengths[row]?.[column] ?? 0;
}

/** The share of the exact rows that were found, from 0 to 1; `undefined` if there are no exact rows. */
export function recallOf(found: readonly RowId[], exact: readonly RowId[]): number | undefined {
  const [have, want] = [new Set(found.map(String)), new Set(exact.map(String))];
  if (want.size === 0) return undefined;
  return [...want].filter((id) => have.has(id)).length / want.size;
}

/** 64 bits: text if a number would lose digits. */
export type RowId = string | number | bigint;
