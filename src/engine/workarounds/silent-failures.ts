import type { Query } from '../../model/query.ts';
import { engineCall } from '../native/engine-errors.ts';
import type { NativeQueryBase } from '../native/native.ts';

const BATCH_ROWS_MAX = 8192;

/**
 * The engine's analysis says nothing of a query that fails while it runs: it shows the steps up to there, as if no more
 * rows had been found. So a query that found nothing, or that calculates, is run once more, for its error alone.
 */
export function mayHaveFailed(query: Query, analyzed: string): boolean {
  const expressions = query.projection?.kind === 'aliases' ? query.projection.columns.map(([, sql]) => sql) : [];
  if (query.filter !== undefined) expressions.push(query.filter);
  return !foundRows(analyzed) || expressions.some(calculates);
}

/**
 * The same query. When rows were found, their columns have been read, and reading them again would only cost; when none
 * were, it may be that they cannot be read.
 */
export function toCheckQuery(query: Query, analyzed: string): Query {
  if (!foundRows(analyzed)) return query;
  const projection = query.projection?.kind === 'aliases' ? query.projection : ({ kind: 'names', paths: [] } as const);
  return { ...query, projection, withRowId: true };
}

/** Runs to the end and lets the error through, if there is one. */
export async function requireRuns(build: () => NativeQueryBase, seconds: number): Promise<void> {
  await engineCall(async () => {
    const batches = await build().execute(BATCH_ROWS_MAX, Math.ceil(seconds * 1000));
    while ((await batches.next()) !== null);
  });
}

/** The first step that counts rows is the outermost. Looked up in the text, because the tree is not always wanted. */
function foundRows(analyzed: string): boolean {
  const [, rows = '0'] = /\boutput_rows=(\d+)/.exec(analyzed) ?? [];
  return rows !== '0';
}

/** Comparisons of columns and literals cannot fail on a row; arithmetic, casts and functions can. */
function calculates(sql: string): boolean {
  const bare = sql.replace(/'(?:[^']|'')*'|`(?:[^`]|``)*`/g, "''").replace(/([(,<>=]\s*)-(?=\d)/g, '$1');
  return /[-+*/%^|&~]|::|\b(?!(?:in|and|or|not|between|like|ilike|is|as)\b)[a-z_]\w*\s*\(/i.test(bare);
}
