import type { PlanStep } from '../model/query.ts';
import type { Evidence, Finding, StepRules } from './advice.ts';
import { formatCount, formatRows, formatShare } from './format-figure.ts';
import { figureOf, findBelow, resultRows } from './plan-steps.ts';
import { findDimension, findIndex, listColumns } from './table-facts.ts';
import type { ColumnFact } from './table-facts.ts';

const SCANNED_ROWS_MIN = 10_000;
const KEPT_SHARE_FEW = 0.2;
const LOST_SHARE_MANY = 0.5;

export const FILTER_RULES: StepRules = {
  FilterExec: [findPostFilter],
  LanceRead: [findFullScan],
  ScalarIndexQuery: [findUnindexedRows],
};

function findPostFilter(step: PlanStep, { context, root }: Evidence): Finding | undefined {
  const [below] = step.children;
  const isOfSearch = findBelow(step, 'ANNSubIndex') !== undefined || findBelow(step, 'KNNVectorDistance') !== undefined;
  if (below === undefined || !isOfSearch || /_distance(?:@\d+)? IS NOT NULL$/.test(step.details)) return undefined;
  const [before, after] = [figureOf(below, 'output_rows'), figureOf(step, 'output_rows')];
  if (before === 0 || 1 - after / before < LOST_SHARE_MANY) return undefined;
  const wanted = context.query.k ?? 10;
  const isShort = resultRows(root) < wanted;
  return {
    kind: 'post-filter',
    severity: isShort ? 'serious' : 'notable',
    title: isShort ? 'The filter left fewer rows than requested' : 'The filter discarded most of the search results',
    seen: `The search found ${formatRows(before)}, and the filter kept ${formatCount(after)} of them; ${formatCount(wanted)} were requested.`,
    why: 'The filter ran after the search and removed rows from its k results. A filter that runs before the search leaves k results that match.',
    step,
    remedy: { kind: 'set', settings: { prefilter: true } },
  };
}

function findFullScan(step: PlanStep, evidence: Evidence): Finding | undefined {
  const [, refine = '--'] = /refine_filter=(.*)$/s.exec(step.details) ?? [];
  const [scanned, kept] = [figureOf(step, 'rows_scanned'), figureOf(step, 'output_rows')];
  if (refine === '--' || scanned < SCANNED_ROWS_MIN || kept / scanned > KEPT_SHARE_FEW) return undefined;
  const columns = columnsOf(refine, evidence);
  const column = columns.find(({ path }) => findIndex(evidence.context.indexes, path, 'scalar') === undefined);
  const seen =
    `${formatRows(scanned)} were read and ${formatCount(kept)} kept, which took ${formatShare(evidence.share(step))} of the time` +
    `${columns.length === 0 ? '' : ` (${columns.map(({ path }) => path).join(', ')})`}.`;
  if (columns.length > 0 && column === undefined) {
    return {
      kind: 'index-not-usable',
      severity: 'notable',
      title: 'The filter cannot use its index',
      seen,
      why: 'An index supports comparisons of the column itself with a value, but not of a function or calculation. Rewrite the condition so that it compares the column directly.',
      step,
      remedy: undefined,
    };
  }
  return {
    kind: 'filter-without-index',
    severity: 'serious',
    title: 'The filter reads every row',
    seen,
    why: 'A scalar index finds the matching rows without reading the others.',
    step,
    remedy:
      column === undefined
        ? undefined
        : { kind: 'create-index', column: column.path, indexType: scalarIndexFor(column, evidence) },
  };
}

function findUnindexedRows(step: PlanStep, { context }: Evidence): Finding | undefined {
  const [, name] = /@([^()]+)\(/.exec(step.details) ?? [];
  const index = context.indexes?.find(({ index_name: each }) => each === name);
  const [outside, inside] = [index?.num_unindexed_rows ?? 0, index?.num_indexed_rows ?? 0];
  // The listed indexes are those of the latest version.
  if (index === undefined || outside === 0 || context.query.version !== undefined) return undefined;
  return {
    kind: 'unindexed-rows',
    severity: outside / (outside + inside) >= 0.1 ? 'notable' : 'hint',
    title: `Some rows are not in the index ${index.index_name}`,
    seen: `${formatRows(outside)} of ${formatCount(outside + inside)} were added after the index was built, and must be read to check the filter.`,
    why: 'Rows that were added or changed later are filtered without the index, which takes longer.',
    step,
    remedy: { kind: 'refresh-index', index: index.index_name },
  };
}

/** The columns of the caller's filter in the part that is checked row by row. */
function columnsOf(refine: string, { context }: Evidence): readonly ColumnFact[] {
  const asked = wordsOf(context.query.filter ?? '');
  const checked = wordsOf(refine);
  const isNamed = ({ path }: ColumnFact): boolean => {
    const names = path.replaceAll('`', '').split('.');
    return names.every((name) => asked.has(name)) && checked.has(names[0] ?? '');
  };
  return listColumns(context.schema).filter((column) => findDimension(column.type) === undefined && isNamed(column));
}

/** Without quoted text. */
function wordsOf(text: string): ReadonlySet<string> {
  const bare = text.replaceAll(/'(?:[^']|'')*'/g, ' ').replaceAll(/"(?:[^"\\]|\\.)*"/g, ' ');
  return new Set(bare.match(/[A-Za-z_]\w*/g));
}

function scalarIndexFor({ type }: ColumnFact, { context }: Evidence): string {
  if (type.type === 'bool') return 'BITMAP';
  if (/list/.test(type.type)) return 'LABEL_LIST';
  const isText = /utf8|string/.test(type.type);
  return isText && /\bcontains\s*\(|LIKE\s+'%/i.test(context.query.filter ?? '') ? 'FM' : 'BTREE';
}
