import { readFileSchema } from '../arrow/schema/schema-reader.ts';
import { countResultRows } from '../arrow/results/result-file.ts';
import { arrowFile, frameWhole } from '../arrow/results/result-framing.ts';
import type { ResultFiles } from '../arrow/results/result-framing.ts';
import type { CheckedStream } from '../arrow/stream/checked-stream.ts';
import { invalidInput } from '../errors/service-error.ts';
import { findVolatile } from '../guard/sql/functions.ts';
import { guardSql } from '../guard/sql/guard-sql.ts';
import type { SqlUse } from '../guard/sql/refusal.ts';
import type { ViewDefinition } from '../model/derived/view.ts';
import { quoteForMessage } from '../model/identifier.ts';
import type { SqlLimits } from '../model/limits.ts';
import type { GuardedSql, Query } from '../model/query.ts';

type ViewRows = Pick<ViewDefinition, 'filter' | 'columns' | 'limit'>;

/** The query for the rows of a view; with an address, only for rows that were added from there on. */
export function toViewQuery({ filter, columns, limit }: ViewRows, limits: SqlLimits, firstAddress?: bigint): Query {
  const wanted = filter === undefined ? undefined : guardStable(filter, { name: 'filter', field: 'filter' }, limits);
  const added = firstAddress === undefined ? undefined : `_rowaddr >= ${firstAddress}`;
  const conditions = [wanted, added].filter((condition) => condition !== undefined);
  const use = { name: 'filter', field: 'filter' } as const;
  const guarded = conditions.length === 0 ? undefined : guardSql(conditions.join(' AND '), use, limits);
  const projected = columns.map(([name, expression]) => {
    const field = `columns[${quoteForMessage(name)}]`;
    return [name, guardStable(expression, { name: 'projection', field }, limits)] as const;
  });
  return {
    vectors: [],
    prefilter: true,
    bypassVectorIndex: false,
    fastSearch: false,
    withRowId: false,
    projection: { kind: 'aliases', columns: projected },
    ...(guarded === undefined ? {} : { filter: guarded }),
    ...(limit === undefined ? {} : { k: limit }),
  };
}

/** Two refreshes of the same source must produce the same rows. */
function guardStable(text: string, use: SqlUse, limits: SqlLimits): GuardedSql {
  const sql = guardSql(text, use, limits);
  const volatile = findVolatile(sql);
  if (volatile === undefined) return sql;
  throw invalidInput(
    `In ${use.field}: ${quoteForMessage(volatile)} returns a different value on each call.`,
    'Remove it.',
  );
}

/** The rows of a result as chunks of about this size. Calls `onChunk` before each. */
export function toStream(
  { head, files }: ResultFiles,
  chunkBytes: number,
  onChunk: (rows: number) => Promise<void> | void = () => {},
): CheckedStream {
  return { schema: readFileSchema(head), chunks: joinFiles(head, files, chunkBytes, onChunk) };
}

async function* joinFiles(
  head: Buffer,
  files: ResultFiles['files'],
  chunkBytes: number,
  onChunk: (rows: number) => Promise<void> | void,
) {
  let waiting: Buffer[] = [];
  let bytes = 0;
  let rows = 0;
  let isFirst = true;
  for await (const file of files) {
    waiting.push(file);
    bytes += file.length;
    if (bytes < chunkBytes) continue;
    await onChunk(rows);
    const chunk = toChunk(head, waiting);
    rows += chunk.rows;
    yield chunk;
    [waiting, bytes, isFirst] = [[], 0, false];
  }
  if (waiting.length > 0 || isFirst) yield toChunk(head, waiting);
}

function toChunk(head: Buffer, files: readonly Buffer[]) {
  return {
    file: frameWhole(arrowFile(), files[0] ?? head, files),
    rows: files.reduce((sum, file) => sum + countResultRows(file), 0),
    batches: files.length,
    nullColumns: new Set<string>(),
    release: () => {},
  };
}
