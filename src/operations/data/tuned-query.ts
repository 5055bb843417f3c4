import { formatFieldPath } from '../../model/field-path.ts';
import type { DistanceType, Query } from '../../model/query.ts';
import type { TableRecord, TableState } from '../../model/table.ts';
import {
  ALL_PROBES,
  TUNED_RESULTS,
  TUNED_SHARES,
  chooseMeasured,
  findClass,
  toRecallGoal,
  toSearchParameters,
} from '../../model/tuning/search-tuning.ts';
import type { IndexTuning, SearchSettings } from '../../model/tuning/search-tuning.ts';
import type { Services } from '../services.ts';
import type { readQueryTimeout } from './read-query.ts';

interface TunedQuery {
  readonly table: TableRecord;
  readonly state: TableState;
  readonly query: Query;
  readonly timeout: ReturnType<typeof readQueryTimeout>;
}

/**
 * The query that is executed: a vector search without parameters gets those measured for its index, and one that
 * bypasses the index keeps the index's distance.
 */
export async function tuneQuery(
  { table, state, query, timeout }: TunedQuery,
  { engine, filterShares, limits }: Pick<Services, 'engine' | 'filterShares' | 'limits'>,
): Promise<Query> {
  if (!isTunable(query, table)) return query;
  if (query.bypassVectorIndex) return toExact(query, await engine.indexes.findDistance(state, query));
  const found = findTuning(query, table, state.branch);
  const tuning = found && query.fastSearch ? withoutExact(found) : found;
  if (tuning === undefined) {
    if (query.recallTarget !== 1 || query.fastSearch) return query;
    return toExact(query, query.distanceType ?? (await engine.indexes.findDistance(state, query)));
  }
  const { filter } = query;
  const { memoryPerRequestBytesMax: bytesMax } = limits.query;
  if (filter === undefined || !query.prefilter || isSameForAllFilters(tuning, query)) {
    return applyTuning(query, tuning, 1, bytesMax);
  }
  const share = await filterShares.estimate({ tableId: table.id, state, filter, rows: tuning.rows }, timeout);
  return applyTuning(query, tuning, share, bytesMax);
}

/** False for most queries, which then need no wait. Explicit parameters take precedence. */
export function isTunable(query: Query, { tunings }: TableRecord): boolean {
  if (query.vectors.length === 0) return false;
  if (query.bypassVectorIndex) return query.distanceType === undefined;
  const isExplicit = query.probes !== undefined || query.ef !== undefined || query.refineFactor !== undefined;
  return !isExplicit && (tunings !== undefined || query.recallTarget !== undefined);
}

function findTuning(query: Query, { tunings = [] }: TableRecord, branch: string | undefined): IndexTuning | undefined {
  const column = query.vectorColumn && formatFieldPath(query.vectorColumn);
  const dimension = query.vectors[0]?.length;
  const isFor = (each: IndexTuning): boolean =>
    each.dimension === dimension &&
    (column === undefined || each.column === column) &&
    (query.distanceType === undefined || each.distanceType === query.distanceType);
  const own = branch === undefined ? undefined : tunings.find((each) => each.branch === branch && isFor(each));
  return own ?? tunings.find((each) => each.branch === undefined && isFor(each));
}

/** `share` is the share of rows that pass the filter, `bytesMax` the memory that the query may use. */
export function applyTuning(query: Query, tuning: IndexTuning, share = 1, bytesMax = Infinity): Query {
  const target = query.recallTarget ?? tuning.target;
  const found = findSearch(tuning, { target, share, isFiltered: isFiltered(query) });
  // The target of the caller is always met, if necessary without the index.
  const isMissed = target >= 1 || (query.recallTarget !== undefined && (found?.recall ?? 0) < target);
  if (!query.fastSearch && (isMissed || found === undefined || found.settings.isExact === true)) {
    return toExact(query, query.distanceType ?? tuning.distanceType);
  }
  if (found === undefined) return query;
  const results = (query.k ?? TUNED_RESULTS) + (query.offset ?? 0);
  // The engine keeps the candidates of all vectors in memory at once.
  const candidateBytes = query.vectors.length * tuning.dimension * Float32Array.BYTES_PER_ELEMENT;
  const candidatesMax = (REFINED_SHARE * bytesMax) / candidateBytes;
  return { ...query, ...toSearchParameters(found.settings, { results, isFiltered: isFiltered(query), candidatesMax }) };
}

/** The share of a query's memory; the rest is for its rows. */
const REFINED_SHARE = 0.25;

/** A fast search finds only indexed rows, so without the index it finds nothing. */
function withoutExact(tuning: IndexTuning): IndexTuning {
  const classes = tuning.classes.map(({ share, measured }) => {
    return { share, measured: measured.filter(({ settings }) => settings.isExact !== true) };
  });
  return { ...tuning, classes };
}

interface Wanted {
  readonly target: number;
  readonly share: number;
  readonly isFiltered: boolean;
}

function findSearch(tuning: IndexTuning, { target, share, isFiltered: filtered }: Wanted) {
  const found = findClass(tuning, filtered ? Math.min(share, WIDEST_FILTER) : 1);
  const goal = toRecallGoal(tuning, target);
  if (found !== undefined) return chooseMeasured(found, goal);
  // Narrower than anything measured: the few matching rows may be in any partition.
  const narrowest = tuning.classes.at(-1);
  const measured = narrowest && chooseMeasured(narrowest, goal);
  return measured && { ...measured, settings: { ...measured.settings, probes: ALL_PROBES } };
}

/** Even a filter that passes all rows uses the settings for filters. */
const WIDEST_FILTER = 0.999;

function isFiltered({ filter, prefilter }: Query): boolean {
  return filter !== undefined && prefilter;
}

/** Whether the share of a filter is irrelevant, because narrow filters need the same settings as wide ones. */
function isSameForAllFilters(tuning: IndexTuning, query: Query): boolean {
  const goal = toRecallGoal(tuning, query.recallTarget ?? tuning.target);
  const settings = tuning.classes.map((each) => chooseMeasured(each, goal)?.settings);
  const texts = new Set(settings.map((each: SearchSettings | undefined) => JSON.stringify(each)));
  return tuning.classes.length === TUNED_SHARES.length && texts.size === 1;
}

/** Compares every row, using the distance of the index. */
function toExact(query: Query, distanceType: DistanceType | undefined): Query {
  return { ...query, bypassVectorIndex: true, ...(distanceType === undefined ? {} : { distanceType }) };
}
