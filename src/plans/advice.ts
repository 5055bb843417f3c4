import type { PlanStep } from '../model/query.ts';
import type { QueryTableBody } from '../wire/data.ts';
import type { IndexContent } from '../wire/indexes.ts';
import type { SchemaJson } from '../wire/schema/schema-json.ts';
import type { TableStatsReply } from '../wire/tables.ts';

/** What the API returned about the query and its table; more context enables more findings. */
export interface PlanContext {
  readonly query: QueryTableBody;
  readonly schema?: SchemaJson;
  readonly indexes?: readonly IndexContent[];
  readonly stats?: TableStatsReply;
  /** The recall compared with an exact search, from 0 to 1. */
  readonly recall?: number;
}

type FindingKind =
  | 'no-vector-index'
  | 'other-distance'
  | 'index-bypassed'
  | 'unindexed-rows'
  | 'post-filter'
  | 'refine-too-high'
  | 'filter-without-index'
  | 'index-not-usable'
  | 'text-without-index'
  | 'wide-columns'
  | 'small-fragments'
  | 'cold-index'
  | 'every-partition'
  | 'low-recall'
  | 'unknown-recall';

/** `serious` costs most of the time or misses rows; `notable` costs some time; `hint` is good to know. */
export type Severity = 'serious' | 'notable' | 'hint';

export interface Finding {
  readonly kind: FindingKind;
  readonly severity: Severity;
  readonly title: string;
  /** What the plan shows, with figures. */
  readonly seen: string;
  readonly why: string;
  readonly step: PlanStep;
  readonly remedy: Remedy | undefined;
}

/** Fields of the query to change. */
export type Settings = Partial<
  Pick<
    QueryTableBody,
    'prefilter' | 'refine_factor' | 'nprobes' | 'ef' | 'columns' | 'distance_type' | 'bypass_vector_index'
  >
>;

export type Remedy =
  | {
      readonly kind: 'create-index';
      readonly column: string;
      readonly indexType: string;
      readonly distanceType?: string;
      readonly branch?: string;
    }
  | { readonly kind: 'refresh-index'; readonly index: string }
  | { readonly kind: 'prewarm-index'; readonly index: string; readonly branch?: string; readonly version?: number }
  | { readonly kind: 'merge-fragments' }
  | { readonly kind: 'set'; readonly settings: Settings };

export interface Evidence {
  readonly root: PlanStep;
  readonly steps: readonly PlanStep[];
  readonly context: PlanContext;
  /** The step's share of the time, from 0 to 1. */
  readonly share: (step: PlanStep) => number;
  /** The share of the step and all steps below it. */
  readonly shareOfTree: (step: PlanStep) => number;
}

/** Rules by the operator of the step that they check. */
export type StepRules = Readonly<
  Record<string, readonly ((step: PlanStep, evidence: Evidence) => Finding | undefined)[]>
>;

export function describeRemedy(remedy: Remedy): string {
  switch (remedy.kind) {
    case 'create-index': {
      const name = remedy.indexType === 'FTS' ? 'a full-text index' : `an index of type ${remedy.indexType}`;
      const where = remedy.branch === undefined ? '' : ` on the branch ${remedy.branch}`;
      return `Create ${name} on ${remedy.column}${where}`;
    }
    case 'refresh-index':
      return `Refresh the index ${remedy.index}`;
    case 'prewarm-index':
      return `Load the index ${remedy.index} into memory`;
    case 'merge-fragments':
      return 'Compact the table';
    case 'set':
      return describeSettings(remedy.settings);
  }
}

function describeSettings(settings: Settings): string {
  const { prefilter, columns, bypass_vector_index: bypass, ...numbers } = settings;
  const words = Object.entries(numbers).map(([name, value]) => `Set ${name} to ${String(value)}`);
  if (prefilter !== undefined) words.push(prefilter ? 'Filter before the search' : 'Filter after the search');
  if (bypass !== undefined) words.push(bypass ? 'Search every row' : 'Use the vector index');
  if (columns !== undefined) words.push(`Select only ${(columns.column_names ?? []).join(', ')}`);
  return words.join(', ');
}
