import type { PlanStep } from '../model/query.ts';
import { figureOf, listSteps, resultRows, ownTimes, totalTime } from './plan-steps.ts';

/** The same figure of two runs; `ratio` is the second by the first, `undefined` where the first is nothing. */
export interface Pair {
  readonly first: number;
  readonly second: number;
  readonly ratio: number | undefined;
}

/** Two steps that do the same work, or one that the other plan has not. */
export interface StepPair {
  readonly depth: number;
  readonly first: PlanStep | undefined;
  readonly second: PlanStep | undefined;
  /** Nanoseconds that each took by itself. */
  readonly time: Pair;
  readonly rows: Pair;
}

export interface PlanComparison {
  /** Nanoseconds of the whole query. */
  readonly time: Pair;
  /** Rows that came out. */
  readonly rows: Pair;
  /** Rows that steps read from storage. */
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

interface DeepStep {
  readonly step: PlanStep;
  readonly depth: number;
}

/**
 * Both plans as lists, a parent before its children, and the longest common row of operators between them: what only
 * one plan has stands alone. Plans have tens of steps; the table of lengths is small.
 */
function alignSteps(first: PlanStep, second: PlanStep): readonly StepPair[] {
  const [left, right] = [deepen(first, 0), deepen(second, 0)];
  const times = new Map([...ownTimes(first), ...ownTimes(second)]);
  const pair = (one: DeepStep | undefined, other: DeepStep | undefined): StepPair => ({
    depth: (one ?? other)?.depth ?? 0,
    first: one?.step,
    second: other?.step,
    time: toPair(timeOf(one, times), timeOf(other, times)),
    rows: toPair(rowsOf(one), rowsOf(other)),
  });
  const lengths = commonLengths(left, right);
  const pairs: StepPair[] = [];
  let [row, column] = [0, 0];
  while (row < left.length || column < right.length) {
    const [one, other] = [left[row], right[column]];
    if (one !== undefined && other !== undefined && one.step.operator === other.step.operator) {
      pairs.push(pair(one, other));
      row += 1;
      column += 1;
    } else if (
      one !== undefined &&
      (other === undefined || at(lengths, row + 1, column) >= at(lengths, row, column + 1))
    ) {
      pairs.push(pair(one, undefined));
      row += 1;
    } else {
      pairs.push(pair(undefined, other));
      column += 1;
    }
  }
  return pairs;
}

/** The length of the longest common row of operators behind each pair of places. */
function commonLengths(left: readonly DeepStep[], right: readonly DeepStep[]): readonly (readonly number[])[] {
  const lengths: number[][] = Array.from({ length: left.length + 1 }, () =>
    Array.from({ length: right.length + 1 }, () => 0),
  );
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

function at(lengths: readonly (readonly number[])[], row: number, column: number): number {
  return lengths[row]?.[column] ?? 0;
}

function deepen(step: PlanStep, depth: number): readonly DeepStep[] {
  return [{ step, depth }, ...step.children.flatMap((child) => deepen(child, depth + 1))];
}

function timeOf(step: DeepStep | undefined, times: ReadonlyMap<PlanStep, number>): number {
  return step === undefined ? 0 : (times.get(step.step) ?? 0);
}

function rowsOf(step: DeepStep | undefined): number {
  return step === undefined ? 0 : figureOf(step.step, 'output_rows');
}

/**
 * Which part of the rows of an exact search another search found, from 0 to 1. `undefined` when the exact search found
 * nothing, of which there is no part. The same id twice counts once.
 */
export function recallOf(found: readonly RowId[], exact: readonly RowId[]): number | undefined {
  const [have, want] = [new Set(found.map(String)), new Set(exact.map(String))];
  if (want.size === 0) return undefined;
  return [...want].filter((id) => have.has(id)).length / want.size;
}

/** Row ids are whole numbers of 64 bits: a text where they do not fit a number. */
export type RowId = string | number | bigint;
