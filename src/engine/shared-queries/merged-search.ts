import { addRow, readFixedColumn } from '../../arrow/results/row-picker.ts';
import type { RowRange } from '../../arrow/results/row-picker.ts';
import type { Query } from '../../model/query.ts';
import type { QueryPlan } from '../queries/native-query.ts';

/** The engine's name for the index of the query vector that a row was found for: the first column of the result. */
const QUERY_INDEX = 'query_index';
const QUERY_INDEX_BYTES = 4;

/** Equal for searches that differ only in their vectors. `undefined` for other queries. */
export function toSearchKind({ query, schema, vectorColumn }: QueryPlan): string | undefined {
  const { vectors, projection } = query;
  if (vectorColumn === undefined || vectorColumn.isMultiVector || vectors.length !== 1) return undefined;
  if (schema.fields.some(({ name }) => isQueryIndex(name))) return undefined;
  if (projection?.kind === 'aliases' && projection.columns.some(([name]) => isQueryIndex(name))) return undefined;
  // A search without a column name finds the column by the length of its vector.
  return JSON.stringify({ ...query, vectors: vectors[0]?.length, vectorColumn: vectorColumn.path });
}

function isQueryIndex(name: string): boolean {
  return name.toLowerCase() === QUERY_INDEX;
}

/** One search for all vectors. */
export function mergeSearches(plan: QueryPlan, vectors: Query['vectors']): QueryPlan {
  return { ...plan, query: { ...plan.query, vectors } };
}

/** The rows of each merged search, from all batches. `undefined` if they cannot be told apart. */
export function findSearchRows(files: readonly Buffer[], searches: number): readonly RowRange[][] | undefined {
  const ranges = Array.from({ length: searches }, (): RowRange[] => []);
  for (const [source, file] of files.entries()) {
    const { rows, values } = readFixedColumn(file, QUERY_INDEX);
    for (let row = 0; row < rows; row += 1) {
      const found = ranges[values.readInt32LE(QUERY_INDEX_BYTES * row)];
      if (found === undefined) return undefined;
      addRow(found, source, row);
    }
  }
  return ranges;
}
