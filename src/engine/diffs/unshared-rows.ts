import { invalidInput } from '../../errors/service-error.ts';
import type { ServiceError } from '../../errors/service-error.ts';
import { MAIN_BRANCH } from '../../model/table.ts';
import type { TableState } from '../../model/table.ts';
import { formatCount } from '../../model/value-text.ts';
import type { RowLayout } from '../../storage/storage.ts';
import { engineCall } from '../native/engine-errors.ts';
import type { EngineParts } from '../parts.ts';
import { planComparison } from './compare-plan.ts';
import type { ComparePlan, RowRange } from './compare-plan.ts';
import { IdList, findUnsharedIds } from './deleted-rows.ts';
import type { UnsharedIds } from './deleted-rows.ts';
import type { OpenVersion, Stop } from './version-rows.ts';

/** Rows of a version, by position and by id. */
export interface RowSet {
  readonly ranges: readonly RowRange[];
  readonly ids: IdList;
}

/** All rows of two versions except those known to be the same in both. */
export interface UnsharedRows {
  readonly from: RowSet;
  readonly to: RowSet;
}

interface OpenVersions {
  readonly from: OpenVersion;
  readonly to: OpenVersion;
}

export interface Layouts {
  readonly from: RowLayout | undefined;
  readonly to: RowLayout | undefined;
  /** Whether a row has the same id in both versions. Different branches assign the same ids to different new rows. */
  readonly hasRowIds: boolean;
}

export async function readLayouts(
  { storages }: EngineParts,
  states: { readonly from: TableState; readonly to: TableState },
  opened: OpenVersions,
): Promise<Layouts> {
  const read = async ({ location, branch }: TableState, { version }: OpenVersion) =>
    storages.of(location.root).readRowLayout(location, branch, version);
  const from = await read(states.from, opened.from);
  const to = await read(states.to, opened.to);
  const isOneBranch = (states.from.branch ?? MAIN_BRANCH) === (states.to.branch ?? MAIN_BRANCH);
  const hasRowIds = isOneBranch && from?.hasStableRowIds === true && to?.hasStableRowIds === true;
  return { from, to, hasRowIds };
}

/** Refuses if there are too many rows to compare. */
export async function findUnsharedRows(
  { from, to, stop }: OpenVersions & { readonly stop: Stop },
  layouts: Layouts,
  { columns, rowsMax }: { readonly columns: readonly string[]; readonly rowsMax: number },
): Promise<UnsharedRows> {
  const plan = await planOf({ from, to }, layouts, columns);
  const whole = countRanges([...plan.from, ...plan.to]);
  if (whole > rowsMax) throw tooManyRows(whole, rowsMax);
  const ids: UnsharedIds = { from: new IdList(), to: new IdList() };
  for (const run of plan.aligned) {
    await findUnsharedIds({ from, to, stop }, run, ids);
    const rows = whole + ids.from.length + ids.to.length;
    if (rows > rowsMax) throw tooManyRows(rows, rowsMax);
  }
  return { from: { ranges: plan.from, ids: ids.from }, to: { ranges: plan.to, ids: ids.to } };
}

/** Without layouts, compares all rows. */
async function planOf({ from, to }: OpenVersions, layouts: Layouts, columns: readonly string[]): Promise<ComparePlan> {
  const [before, after] = [layouts.from?.listFragments(columns), layouts.to?.listFragments(columns)];
  if (before !== undefined && after !== undefined) return planComparison(before, after);
  return { from: [await wholeOf(from)], to: [await wholeOf(to)], aligned: [] };
}

async function wholeOf({ native }: OpenVersion): Promise<RowRange> {
  return { start: 0, count: await engineCall(async () => native.countRows()) };
}

export function countRows({ ranges, ids }: RowSet): number {
  return countRanges(ranges) + ids.length;
}

function countRanges(ranges: readonly RowRange[]): number {
  return ranges.reduce((sum, { count }) => sum + count, 0);
}

export function tooManyRows(rows: number, rowsMax: number): ServiceError {
  const [found, allowed] = [rows, rowsMax].map(formatCount);
  return invalidInput(
    `The versions have ${found} rows in files that they do not share; a diff can compare at most ${allowed}.`,
    'Compare versions that are closer together, or query the rows of both.',
  );
}
