import type { Query } from '../../model/query.ts';

/**
 * Seen in @lancedb/lancedb 0.31.0 and 0.39.0: `analyzePlan` does not report a query that fails while it runs. It shows
 * the steps so far, as if no more rows had been found. So a query that found nothing, or that calculates, runs once
 * more, only for its error. Can be removed when `analyzePlan` rejects such a query; the tests of query-plans show it.
 *
 * Returns the query to run, or `undefined` if it cannot have failed.
 */
export function toFailureCheck(query: Query, analyzed: string): Query | undefined {
  if (query.k === 0) return undefined;
  if (!hasOutputRows(analyzed)) return query;
  const expressions = query.projection?.kind === 'aliases' ? query.projection.columns.map(([, sql]) => sql) : [];
  if (query.filter !== undefined) expressions.push(query.filter);
  if (!expressions.some(canFail)) return undefined;
  // With rows in the output the columns are known to be readable; reading them again would only cost time.
  const projection = query.projection?.kind === 'aliases' ? query.projection : ({ kind: 'names', paths: [] } as const);
  return { ...query, projection, withRowId: true };
}

/** The first step with a row count is the outermost. */
function hasOutputRows(analyzed: string): boolean {
  const [, rows = '0'] = /\boutput_rows=(\d+)/.exec(analyzed) ?? [];
  return rows !== '0';
}

/** Comparisons of columns and literals cannot fail on a row; arithmetic, casts and functions can. */
function canFail(sql: string): boolean {
  const bare = sql.replace(/'(?:[^']|'')*'|`(?:[^`]|``)*`/g, "''").replace(/([(,<>=]\s*)-(?=\d)/g, '$1');
  return /[-+*/%^|&~]|::|\b(?!(?:in|and|or|not|between|like|ilike|is|as)\b)[a-z_]\w*\s*\(/i.test(bare);
}
