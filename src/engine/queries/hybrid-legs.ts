import { readFixedColumn } from '../../arrow/results/row-picker.ts';
import type { GuardedSql } from '../../model/query.ts';
import { engineCall } from '../native/engine-errors.ts';
import type { NativeQuery, NativeTable } from '../native/native.ts';
import { buildScan, buildVectorSearch } from './native-query.ts';
import type { HybridPlan, QueryPlan } from './native-query.ts';
import { fuseByRank } from './rank-fusion.ts';
import type { FusedRow, RankedRow } from './rank-fusion.ts';
import { idsInTurns, visitInTurns } from '../row-turns.ts';

/** The engine's default limit of a search. */
export const ROWS_DEFAULT = 10;

interface FusedRanks {
  readonly rows: readonly FusedRow[];
  readonly vectorRows: number;
  readonly textRows: number;
  readonly fusionNanoseconds: number;
}

export async function searchLegs(table: NativeTable, plan: HybridPlan, batchRows: number): Promise<FusedRanks> {
  const legs = buildLegs(table, plan);
  // Wait for both: a query must not end while a part of it still runs.
  const [vector, text] = await Promise.allSettled([
    readLeg(legs.vector(), '_distance', batchRows),
    readLeg(legs.text(), '_score', batchRows).then(async (rows) => filterAfter(table, plan, rows, batchRows)),
  ]);
  if (vector.status === 'rejected') throw vector.reason;
  if (text.status === 'rejected') throw text.reason;
  const startedAt = process.hrtime.bigint();
  const rows = (await fuseByRank(vector.value, text.value)).slice(0, plan.query.k ?? ROWS_DEFAULT);
  const fusionNanoseconds = Number(process.hrtime.bigint() - startedAt);
  return { rows, vectorRows: vector.value.length, textRows: text.value.length, fusionNanoseconds };
}

/** `offset` and `k` apply to each leg; the fused rows are limited to `k` once more. */
export function buildLegs(table: NativeTable, plan: HybridPlan) {
  const toLeg = (measure: '_distance' | '_score'): QueryPlan => {
    const projection = { kind: 'names', paths: [['_rowid'], [measure]] } as const;
    return { ...plan, query: { ...plan.query, projection, withRowId: false } };
  };
  return {
    vector: () => buildVectorSearch(table, toLeg('_distance'), plan.vectorColumn),
    text: () => buildScan(table, toTextLeg(toLeg('_score'))),
  };
}

/**
 * For a full-text search with a postfilter: finds its best rows without the filter, then searches among them.
 * `undefined` if there are none.
 */
export async function filterTextAfter(
  table: NativeTable,
  plan: QueryPlan,
  batchRows: number,
): Promise<QueryPlan | undefined> {
  const leg = toUnfilteredText(plan);
  if (leg === undefined) return plan;
  const { query } = plan;
  const rows = await readLeg(buildScan(table, leg), '_score', batchRows);
  if (rows.length === 0) return undefined;
  // These are all rows with the words, so the order of searching and filtering does not matter.
  if (rows.length < (leg.query.k ?? ROWS_DEFAULT)) return plan;
  const ids = rows.map(({ id }) => id).join(', ');
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- A guarded expression, and numbers.
  const filter = `(${query.filter}) AND _rowid IN (${ids})` as GuardedSql;
  return { ...plan, query: { ...query, filter } };
}

/** The search that such a query begins with; `undefined` for any other query. */
export function toUnfilteredText(plan: QueryPlan): QueryPlan | undefined {
  const { search, vectorColumn, query } = plan;
  // With `k` of 0 nothing is searched, and the engine panics if asked for 0 rows.
  if (search === undefined || vectorColumn !== undefined || query.k === 0 || !isFilteredAfter(plan)) return undefined;
  const projection = { kind: 'names', paths: [['_rowid'], ['_score']] } as const;
  // `order_by` sorts the rows with the highest scores; it does not choose them.
  const { orderBy: _unused, ...unordered } = query;
  return toTextLeg({ ...plan, query: { ...unordered, projection, withRowId: false } });
}

/**
 * The engine can only postfilter a vector search. So a full-text search also returns the rows that the offset would
 * skip; it is filtered and shortened afterwards.
 */
function toTextLeg(leg: QueryPlan): QueryPlan {
  if (!isFilteredAfter(leg)) return leg;
  const { filter: _unused, ...query } = leg.query;
  return { ...leg, query: { ...query, k: (query.k ?? ROWS_DEFAULT) + (query.offset ?? 0), offset: 0 } };
}

function isFilteredAfter({ query: { filter, prefilter } }: QueryPlan): boolean {
  return filter !== undefined && !prefilter;
}

/** As in the engine's vector search, the offset counts matching rows. */
async function filterAfter(
  table: NativeTable,
  plan: HybridPlan,
  rows: readonly RankedRow[],
  batchRows: number,
): Promise<readonly RankedRow[]> {
  if (!isFilteredAfter(plan) || rows.length === 0) return rows;
  const { filter, offset = 0 } = plan.query;
  const query = table.takeRowIds(await idsInTurns(rows));
  query.select([
    ['_rowid', '_rowid'],
    ['matches', `CAST((${filter}) IS TRUE AS FLOAT)`],
  ]);
  const matches = new Map<bigint, boolean>();
  await visitInTurns(await readLeg(query, 'matches', batchRows), ({ id, value }) => matches.set(id, value === 1));
  const found: RankedRow[] = [];
  await visitInTurns(rows, (row) => {
    if (matches.get(row.id) === true) found.push(row);
  });
  return found.slice(offset);
}

async function readLeg(
  query: Pick<NativeQuery, 'execute'>,
  measure: string,
  batchRows: number,
): Promise<readonly RankedRow[]> {
  const rows: RankedRow[] = [];
  const batches = await engineCall(async () => query.execute(batchRows, null));
  for (;;) {
    const file = await engineCall(async () => batches.next());
    if (file === null) return rows;
    const ids = readFixedColumn(file, '_rowid');
    const { values } = readFixedColumn(file, measure);
    for (let row = 0; row < ids.rows; row += 1) {
      rows.push({ id: ids.values.readBigUInt64LE(8 * row), value: values.readFloatLE(4 * row) });
    }
  }
}
