import type { DistanceType, Query } from '../query.ts';

/** How hard a search of a vector index tries, for `TUNED_RESULTS` results. The engine chooses what is absent. */
export interface SearchSettings {
  readonly probes?: number;
  readonly refineFactor?: number;
  readonly ef?: number;
  /** Every row is compared, without the index. */
  readonly isExact?: true;
}

/** The number of results that recall is measured with. */
export const TUNED_RESULTS = 10;

/** Without a filter, and with filters that let a tenth and a hundredth of the rows pass. */
export const TUNED_SHARES = [1, 0.1, 0.01] as const;

/** More partitions than any index has. */
export const ALL_PROBES = 100_000;

export interface MeasuredSearch {
  readonly settings: SearchSettings;
  /** Share of the exact neighbours that were found, from 0 to 1. */
  readonly recall: number;
  /** Per search; several ran at once. */
  readonly milliseconds: number;
}

/** Measurements with filters that let this share of the rows pass. */
export interface TunedClass {
  /** 1: without a filter. */
  readonly share: number;
  /** At least one; the cheapest first. */
  readonly measured: readonly MeasuredSearch[];
}

/** What was measured of a vector index: searches that name no parameters use it. */
export interface IndexTuning {
  readonly index: string;
  /** Absent: the main branch. */
  readonly branch?: string | undefined;
  readonly indexType: string;
  /** Canonical field path. */
  readonly column: string;
  readonly dimension: number;
  readonly distanceType: DistanceType | undefined;
  /** Recall that searches without parameters shall have. */
  readonly target: number;
  /** Rows of the table at that time. */
  readonly rows: number;
  /** Those of `TUNED_SHARES` that there was time for, in this order. */
  readonly classes: readonly TunedClass[];
  readonly tunedAt: number;
  /** What the measurement took. */
  readonly milliseconds: number;
}

/** What was measured on that branch itself. */
export function findTuning(
  tunings: readonly IndexTuning[] | undefined,
  index: string,
  branch: string | undefined,
): IndexTuning | undefined {
  return tunings?.find((each) => each.index === index && each.branch === branch);
}

/** A sample is small: halfway between the target and 1, so that most other queries reach the target too. */
export function withMargin(target: number): number {
  return target + (1 - target) / 2;
}

/** The measured queries are rows of the table. HNSW finds the neighbours of those more reliably than those of new vectors. */
const GRAPH_MARGIN_PART = 0.9;

/** The recall that a search should have when it is measured. */
export function toRecallGoal({ indexType }: Pick<IndexTuning, 'indexType'>, target: number): number {
  return indexType.includes('HNSW') ? target + (1 - target) * GRAPH_MARGIN_PART : withMargin(target);
}

/** The class for a filter: the narrowest one that it is not narrower than, or `undefined` when all are wider. */
export function findClass({ classes }: IndexTuning, share: number): TunedClass | undefined {
  return classes.find((each) => share >= each.share);
}

/** The cheapest search that reaches the goal, or else the one with the best recall. */
export function chooseMeasured({ measured }: TunedClass, goal: number): MeasuredSearch | undefined {
  const cheapest = measured.find(({ recall }) => recall >= goal);
  return cheapest ?? measured.toSorted((one, other) => other.recall - one.recall)[0];
}

type SearchParameters = Partial<Pick<Query, 'probes' | 'refineFactor' | 'ef' | 'bypassVectorIndex'>>;

export interface TunedSearch {
  /** Of each vector. */
  readonly results: number;
  readonly isFiltered: boolean;
  /** Vectors that may be fetched to refine the search for one vector; fewer than the results: none. */
  readonly candidatesMax?: number;
}

/** Settings as parameters of a query. With a filter, partitions are searched beyond the minimum until there are enough rows. */
export function toSearchParameters(
  { probes, refineFactor, ef, isExact }: SearchSettings,
  { results, isFiltered, candidatesMax = Infinity }: TunedSearch,
): SearchParameters {
  if (isExact === true) return { bypassVectorIndex: true };
  // As many candidates for few results as for `TUNED_RESULTS`, and as many for each of more.
  const scale = TUNED_RESULTS / Math.min(Math.max(results, 1), TUNED_RESULTS);
  const growth = Math.max(results, TUNED_RESULTS) / TUNED_RESULTS;
  return {
    ...(probes === undefined
      ? {}
      : { probes: { minimum: probes, maximum: isFiltered || probes === ALL_PROBES ? undefined : probes } }),
    ...(refineFactor === undefined || candidatesMax < results
      ? {}
      : { refineFactor: toRefineFactor(refineFactor * scale, results, candidatesMax) }),
    ...(ef === undefined ? {} : { ef: Math.ceil(ef * growth) }),
  };
}

/** Vectors that are fetched to refine one search: more would cost more memory and time than a caller without parameters expects. */
const CANDIDATES_MAX = 10_000;

function toRefineFactor(wanted: number, results: number, candidatesMax: number): number {
  const candidates = Math.min(candidatesMax, CANDIDATES_MAX);
  return Math.max(1, Math.min(Math.ceil(wanted), Math.floor(candidates / Math.max(results, 1))));
}
