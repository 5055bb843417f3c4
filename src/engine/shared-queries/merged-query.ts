import { hideFirstColumn } from '../../arrow/results/result-file.ts';
import type { ResultFiles } from '../../arrow/results/result-framing.ts';
import { RowPicker } from '../../arrow/results/row-picker.ts';
import type { QueryPlan } from '../queries/native-query.ts';
import { findLookupRows, mergeLookups, toLookup, toLookupKind } from './merged-lookup.ts';
import type { Lookup } from './merged-lookup.ts';
import { findSearchRows, mergeSearches, toSearchKind } from './merged-search.ts';

/** Larger results are streamed; those of a group are kept in memory. */
const ROWS_MAX = 100;

/** A query that can be merged with others of its kind. */
export interface Mergeable {
  /** Equal for queries that can be merged. */
  readonly kind: string;
  readonly plan: QueryPlan;
  /** `undefined` for a vector search. */
  readonly lookup: Lookup | undefined;
}

export type MergeableQueries = readonly [Mergeable, ...Mergeable[]];

/** `undefined` for a query that cannot be merged. */
export function toMergeable(plan: QueryPlan): Mergeable | undefined {
  const { query, search, vectorColumn } = plan;
  const { k = Infinity, orderBy } = query;
  if (search !== undefined || orderBy !== undefined || k > ROWS_MAX) return undefined;
  const lookup = vectorColumn === undefined ? toLookup(plan) : undefined;
  const kind = lookup === undefined ? toSearchKind(plan) : toLookupKind(plan, lookup);
  return kind === undefined ? undefined : { kind, plan, lookup };
}

/** One query that returns the rows of all, which must be of one kind. */
export function mergeQueries(queries: MergeableQueries): QueryPlan {
  const [{ plan }] = queries;
  const lookups = lookupsOf(queries);
  if (lookups !== undefined) return mergeLookups(plan, lookups);
  return mergeSearches(
    plan,
    queries.flatMap((each) => each.plan.query.vectors),
  );
}

/** The results of merged queries, from all batches. `undefined` if they cannot be told apart. */
export function splitResult(files: readonly Buffer[], queries: MergeableQueries): readonly ResultFiles[] | undefined {
  const [{ plan }] = queries;
  const lookups = lookupsOf(queries);
  const isSearch = lookups === undefined;
  const rows = isSearch ? findSearchRows(files, queries.length) : findLookupRows(files, lookups, plan.query.k ?? 0);
  // Only a search has a column that tells its rows apart: the first one.
  const picker = new RowPicker(isSearch ? files.map(hideFirstColumn) : files);
  if (files.length > 1 && picker.hasDictionaries) return undefined;
  return rows?.map((ranges) => {
    const head = picker.pick(ranges, new Map());
    return { head, files: ranges.length === 0 ? [] : [head] };
  });
}

function lookupsOf(queries: MergeableQueries): readonly [Lookup, ...Lookup[]] | undefined {
  const [first, ...others] = queries.map(({ lookup }) => lookup).filter((lookup) => lookup !== undefined);
  return first === undefined ? undefined : [first, ...others];
}
