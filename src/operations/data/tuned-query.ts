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
 * What really runs: a vector search that names no parameters gets those that were measured for its index, and one that
 * bypasses the index keeps its distance.
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

/** Spares all others a wait. Explicit parameters win. */
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

/** `share` is that of the rows that pass the filter, `bytesMax` the memory that the query may use. */
export function applyTuning(query: Query, tuning: IndexTuning, share = 1, bytesMax = Infinity): Query {
  const target = query.recallTarget ?? tuning.target;
  const found = findSearch(tuning, { target, share, isFiltered: isFiltered(query) });
  // A caller's own target is kept, if need be without the index.
  const isMissed = target >= 1 || (query.recallTarget !== undefined && (found?.recall ?? 0) < target);
  if (!query.fastSearch && (isMissed || found === undefined || found.settings.isExact === true)) {
    return toExact(query, query.distanceType ?? tuning.distanceType);
  }
  if (found === undefined) return query;
  const results = (query.k ?? TUNED_RESULTS) + (query.offset ?? 0);
  // The engine holds the candidates of all vectors at once.
  const candidateBytes = query.vectors.length * tuning.dimension * Float32Array.BYTES_PER_ELEMENT;
  const candidatesMax = (REFINED_SHARE * bytesMax) / candidateBytes;
  return { ...query, ...toSearchParameters(found.settings, { results, isFiltered: isFiltered(query), candidatesMax }) };
}

/** Of the memory of a query: the rest is for its rows. */
const REFINED_SHARE = 0.25;

/** A fast search finds only what the index has: without the index it finds nothing. */
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
  // Narrower than all that was measured: the few rows that pass may be in any partition.
  const narrowest = tuning.classes.at(-1);
  const measured = narrowest && chooseMeasured(narrowest, goal);
  return measured && { ...measured, settings: { ...measured.settings, probes: ALL_PROBES } };
}

/** Even a filter that lets all rows pass has the settings of filters. */
const WIDEST_FILTER = 0.999;

function isFiltered({ filter, prefilter }: Query): boolean {
  return filter !== undefined && prefilter;
}

/** The share of a filter need not be known where narrower filters need no more than wide ones. */
function isSameForAllFilters(tuning: IndexTuning, query: Query): boolean {
  const goal = toRecallGoal(tuning, query.recallTarget ?? tuning.target);
  const settings = tuning.classes.map((each) => chooseMeasured(each, goal)?.settings);
  const texts = new Set(settings.map((each: SearchSettings | undefined) => JSON.stringify(each)));
  return tuning.classes.length === TUNED_SHARES.length && texts.size === 1;
}

/** Compares every row, by the distance of the index. */
function toExact(query: Query, distanceType: DistanceType | undefined): Query {
  return { ...query, bypassVectorIndex: true, ...(distanceType === undefined ? {} : { distanceType }) };
}
