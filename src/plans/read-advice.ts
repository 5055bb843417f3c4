import type { PlanStep } from '../model/query.ts';
import type { Evidence, Finding } from './advice.ts';
import { formatBytes, formatCount, formatRows } from './format-figure.ts';
import { figureOf, isFetch, namesOf, resultRows } from './plan-steps.ts';
import { findDimension, findWidth, listColumns } from './table-facts.ts';
import type { ColumnFact } from './table-facts.ts';

const FRAGMENTS_MANY = 8;
const FRAGMENT_ROWS_FEW = 10_000;
const WIDE_BYTES_MIN = 64;
const READ_PER_RESULT_MANY = 10;

export function findWideColumns({ steps, root, context }: Evidence): Finding | undefined {
  if (context.query.columns !== undefined) return undefined;
  const columns = listColumns(context.schema);
  const wide = columns.filter(isWide);
  const narrow = columns.filter((column) => !isWide(column));
  const step = steps.find((each) => wide.some(({ path }) => columnsReadBy(each).includes(path.split('.', 1)[0] ?? '')));
  const results = resultRows(root);
  if (step === undefined || narrow.length === 0 || results === 0) return undefined;
  const rows = figureOf(step, 'output_rows');
  const isWaste = rows >= results * READ_PER_RESULT_MANY;
  // Variable-size values have no width: the sum of the others would be too small.
  const widths = wide.map(({ type }) => findWidth(type));
  const width = widths.includes(undefined) ? 0 : widths.reduce<number>((sum, each) => sum + (each ?? 0), 0);
  return {
    kind: 'wide-columns',
    severity: isWaste ? 'notable' : 'hint',
    title: 'All columns are returned, including wide ones',
    seen:
      `${wide.map(({ path }) => path).join(', ')} ${wide.length === 1 ? 'is' : 'are'} read for ${formatRows(rows)}` +
      `${width === 0 ? '' : `, ${formatBytes(width)} each`}; the step read ${formatBytes(figureOf(step, 'bytes_read'))}.`,
    why: 'Columns are stored separately, so columns that you do not select cost nothing. Vectors and bytes make up most of a row.',
    step,
    remedy: { kind: 'set', settings: { columns: { column_names: narrow.map(({ path }) => path) } } },
  };
}

export function findSmallFragments({ steps }: Evidence): Finding | undefined {
  const step = steps.find((each) => {
    if (isFetch(each)) return false;
    const fragments = figureOf(each, 'fragments_scanned');
    return fragments >= FRAGMENTS_MANY && figureOf(each, 'rows_scanned') / fragments < FRAGMENT_ROWS_FEW;
  });
  if (step === undefined) return undefined;
  return {
    kind: 'small-fragments',
    severity: 'notable',
    title: 'The table consists of many small fragments',
    seen:
      `${formatRows(figureOf(step, 'rows_scanned'))} were read from ${formatCount(figureOf(step, 'fragments_scanned'))} ` +
      `fragments in ${formatCount(figureOf(step, 'iops'))} reads.`,
    why: 'Each write adds a fragment with separate files. Maintenance compacts them; you can run it now.',
    step,
    remedy: { kind: 'merge-fragments' },
  };
}

function columnsReadBy(step: PlanStep): readonly string[] {
  // A fetch by row id has its columns in parentheses: `columns="_rowid, (title), (vec)"`.
  const fetched = step.operator === 'Take' ? [...step.details.matchAll(/\(([^()]+)\)/g)] : [];
  return [...namesOf(step, 'projection'), ...fetched.map(([, name = '']) => name)];
}

function isWide({ type }: ColumnFact): boolean {
  const isListOfVectors = type.type === 'list' && findDimension(type) !== undefined;
  return isListOfVectors || /binary/.test(type.type) || (findWidth(type) ?? 0) >= WIDE_BYTES_MIN;
}
