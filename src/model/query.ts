import type { FieldPath } from './field-path.ts';

declare const guarded: unique symbol;

/** SQL text that `guardSql` accepted: one complete expression within the limits, safe for the engine. */
export type GuardedSql = string & { readonly [guarded]: true };

export const DISTANCE_TYPES = ['l2', 'cosine', 'dot', 'hamming'] as const;
export type DistanceType = (typeof DISTANCE_TYPES)[number];

/** A search or scan; every number is within its limit. */
export interface Query {
  /** None: a scan or full-text search. Several: one search each, or one search of a multi-vector column. */
  readonly vectors: readonly (readonly number[])[];
  readonly vectorColumn?: FieldPath;
  readonly fullText?: FullTextQuery;
  readonly filter?: GuardedSql;
  readonly prefilter: boolean;
  readonly projection?: Projection;
  readonly k?: number;
  readonly offset?: number;
  readonly distanceType?: DistanceType;
  readonly probes?: Probes;
  readonly ef?: number;
  readonly refineFactor?: number;
  readonly lowerBound?: number;
  readonly upperBound?: number;
  readonly bypassVectorIndex: boolean;
  readonly fastSearch: boolean;
  readonly orderBy?: readonly Order[];
  readonly withRowId: boolean;
  /** Share of the exact neighbours to find, above 0; 1 compares every row. */
  readonly recallTarget?: number;
}

export interface Order {
  readonly path: FieldPath;
  readonly ascending: boolean;
  readonly nullsFirst: boolean;
}

export interface Probes {
  readonly minimum: number;
  /** `undefined` for no maximum. */
  readonly maximum: number | undefined;
}

export type Projection =
  | { readonly kind: 'names'; readonly paths: readonly FieldPath[] }
  | { readonly kind: 'aliases'; readonly columns: readonly (readonly [name: string, expression: GuardedSql])[] };

export type FullTextQuery =
  | { readonly kind: 'text'; readonly terms: string; readonly columns: readonly FieldPath[] }
  | {
      readonly kind: 'match';
      readonly terms: string;
      readonly column: FieldPath | undefined;
      readonly boost: number;
      readonly fuzziness: number | undefined;
      readonly maxExpansions: number;
      readonly operator: 'and' | 'or';
      readonly prefixLength: number;
    }
  | { readonly kind: 'phrase'; readonly terms: string; readonly column: FieldPath | undefined; readonly slop: number }
  | {
      readonly kind: 'boost';
      readonly positive: FullTextQuery;
      readonly negative: FullTextQuery;
      readonly negativeBoost: number;
    }
  | {
      readonly kind: 'multi-match';
      readonly terms: string;
      readonly columns: readonly FieldPath[];
      readonly boosts: readonly number[] | undefined;
      readonly operator: 'and' | 'or';
    }
  | {
      readonly kind: 'boolean';
      readonly must: readonly FullTextQuery[];
      readonly should: readonly FullTextQuery[];
      readonly mustNot: readonly FullTextQuery[];
    };

/** The cost of each step of a query: as the engine's text, without file paths, and as a tree. */
export interface Analysis {
  readonly text: string;
  /** Parsed from the text on demand: most callers only want the text. */
  readonly root: PlanStep;
}

export interface PlanStep {
  readonly operator: string;
  readonly details: string;
  readonly metrics: Readonly<Record<string, Metric>>;
  readonly children: readonly PlanStep[];
}

export type MetricUnit = 'count' | 'bytes' | 'nanoseconds';

/** `value` in whole units; `text` as rounded by the engine. */
export interface Metric {
  readonly value: number;
  readonly unit: MetricUnit;
  readonly text: string;
}
