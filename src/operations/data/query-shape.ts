import { maskLiterals } from '../../guard/sql-mask.ts';
import { formatFieldPath } from '../../model/field-path.ts';
import type { GuardedSql, Query } from '../../model/query.ts';
import type { QueryShape } from '../../slow-queries/slow-queries.ts';

const FILTER_CHARACTERS_MAX = 500;

/** A query as the log may show it: how it searches, and its filter without literals. */
export function toQueryShape(query: Query): QueryShape {
  const { vectors, vectorColumn, fullText, filter, projection, probes } = query;
  const columns = projection?.kind === 'names' ? projection.paths.length : projection?.columns.length;
  return dropAbsent({
    vectors: vectors.length === 0 ? undefined : vectors.length,
    dimensions: vectors[0]?.length,
    vector_column: vectorColumn === undefined ? undefined : formatFieldPath(vectorColumn),
    full_text: fullText === undefined ? undefined : fullText.kind,
    ...toFilterShape(filter),
    prefilter: filter === undefined ? undefined : query.prefilter,
    columns,
    k: query.k,
    offset: query.offset,
    distance_type: query.distanceType,
    nprobes: probes?.minimum,
    ef: query.ef,
    refine_factor: query.refineFactor,
    bypass_vector_index: query.bypassVectorIndex ? true : undefined,
    fast_search: query.fastSearch ? true : undefined,
    order_by: query.orderBy
      ?.map(({ path, ascending }) => formatFieldPath(path) + (ascending ? '' : ' DESC'))
      .join(', '),
  });
}

export function toFilterShape(filter: GuardedSql | undefined): QueryShape {
  return filter === undefined ? {} : { filter: maskLiterals(filter).slice(0, FILTER_CHARACTERS_MAX) };
}

function dropAbsent(shape: Readonly<Record<string, string | number | boolean | undefined>>): QueryShape {
  const entries = Object.entries(shape).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  );
  return Object.fromEntries(entries);
}
