import type { DistanceType, Query } from '../query.ts';

/** The effort of a vector index search, for `TUNED_RESULTS` results. The engine chooses absent values. */
export interface SearchSettings {
  readonly probes?: number;
  readonly refineFactor?: number;
  readonly ef?: number;
  /** Compares every row, without the index. */
  readonly isExact?: true;
}

/** The number of results that recall is measured with. */
export const TUNED_RESULTS = 10;

/** No filter, and filters that a tenth and a hundredth of the rows pass. */
export const TUNED_SHARES = [1, 0.1, 0.01] as const;

/** More partitions than any index has. */
export const ALL_PROBES = 100_000;

export interface MeasuredSearch {
  readonly settings: SearchSettings;
  /** The share of the exact neighbors that were found, from 0 to 1. */
  readonly recall: number;
  /** Per search, while several were running. */
  readonly milliseconds: number;
}

/** Measurements with filters that this share of the rows passes. */
export interface TunedClass {
  /** 1 means no filter. */
  readonly share: number;
  /** At least one; cheapest first. */
  readonly measured: readonly MeasuredSearch[];
}

/** Measurements of a vector index, used by searches without parameters. */
export interface IndexTuning {
  readonly index: string;
  /** The main branch if absent. */
  readonly branch?: string | undefined;
  readonly indexType: string;
  /** Canonical field path. */
  readonly column: string;
  readonly dimension: number;
  readonly distanceType: DistanceType | undefined;
  /** The recall target of searches without parameters. */
  readonly target: number;
  /** Rows of the table at the time. */
  readonly rows: number;
  /** Those of `TUNED_SHARES` that there was time to measure, in this order. */
  readonly classes: readonly TunedClass[];
  readonly tunedAt: number;
  /** How long the measurement took. */
  readonly milliseconds: number;
}

/** The tuning measured on that very branch. */
export function findTuning(
  tunings: readonly IndexTuning[] | undefined,
  index: string,
  branch: string | undefined,
): IndexTuning | undefined {
  return tunings?.find((each) => each.index === index && each.branch === branch);
}

/** A sample is small, so aim halfway between the target and 1: then most other queries reach the target too. */
export function withMargin(target: number): number {
  return target + (1 - target) / 2;
}

/** The measured queries are rows of the table, whose neighbors HNSW finds more reliably than those of new vectors. */
const GRAPH_MARGIN_PART = 0.9;

/** The recall that a search must reach in the measurement. */
export function toRecallGoal({ indexType }: Pick<IndexTuning, 'indexType'>, target: number): number {
  return indexType.includes('HNSW') ? target + (1 - target) * GRAPH_MARGIN_PART : withMargin(target);
}

/** The class for a filter: the widest one that is not wider than it; `undefined` if all are wider. */
export function findClass({ classes }: IndexTuning, share: number): TunedClass | undefined {
  return classes.find((each) => share >= each.share);
}

/** The cheapest search that reaches the goal, otherwise the one with the best recall. */
export function chooseMeasured({ measured }: TunedClass, goal: number): MeasuredSearch | undefined {
  const cheapest = measured.find(({ recall }) => recall >= goal);
  return cheapest ?? measured.toSorted((one, other) => other.recall - one.recall)[0];
}

type SearchParameters = Partial<Pick<Query, 'probes' | 'refineFactor' | 'ef' | 'bypassVectorIndex'>>;

export interface TunedSearch {
  /** Per vector. */
  readonly results: number;
  readonly isFiltered: boolean;
  /** Vectors that may be fetched to refine the search for one vector; if fewer than the results, none are. */
  readonly candidatesMax?: number;
}

/**
 * Settings as query parameters. With a filter, partitions beyond the minimum are searched until there are enough rows.
 */
export function toSearchParameters(
  { probes, refineFactor, ef, isExact }: SearchSettings,
  { results, isFiltered, candidatesMax = Infinity }: TunedSearch,
): SearchParameters {
  if (isExact === true) return { bypassVectorIndex: true };
  // For few results, as many candidates as for `TUNED_RESULTS`; for more, proportionally more.
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

/**
 * Vectors that are fetched to refine one search: more would cost more memory and time than a caller without parameters
 * expects.
 */
const CANDIDATES_MAX = 10_000;

function toRefineFactor(wanted: number, results: number, candidatesMax: number): number {
  const candidates = Math.min(candidatesMax, CANDIDATES_MAX);
  return Math.max(1, Math.min(Math.ceil(wanted), Math.floor(candidates / Math.max(results, 1))));
}
