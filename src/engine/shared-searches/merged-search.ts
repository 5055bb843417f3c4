import { hideFirstColumn } from '../../arrow/results/result-file.ts';
import type { ResultFiles } from '../../arrow/results/result-framing.ts';
import { RowPicker, readFixedColumn } from '../../arrow/results/row-picker.ts';
import type { RowRange } from '../../arrow/results/row-picker.ts';
import type { QueryPlan } from '../queries/native-query.ts';

/** Larger results are sent while they are read; those of a group are held. */
const ROWS_MAX = 100;

/** The engine's name for the number of the vector that a row was found for; the first column of the result. */
const QUERY_INDEX = 'query_index';
const QUERY_INDEX_BYTES = 4;

/** Equal for searches that differ in their vectors alone. `undefined` for a query that always runs by itself. */
export function toSearchKind({ query, schema, search, vectorColumn }: QueryPlan): string | undefined {
  const { k = Infinity, vectors, projection, orderBy } = query;
  if (vectorColumn === undefined || vectorColumn.isMultiVector || vectors.length !== 1) return undefined;
  if (search !== undefined || orderBy !== undefined || k > ROWS_MAX) return undefined;
  if (schema.fields.some(({ name }) => isQueryIndex(name))) return undefined;
  if (projection?.kind === 'aliases' && projection.columns.some(([name]) => isQueryIndex(name))) return undefined;
  // A search that names no column finds it by the length of its vector.
  return JSON.stringify({ ...query, vectors: vectors[0]?.length, vectorColumn: vectorColumn.path });
}

function isQueryIndex(name: string): boolean {
  return name.toLowerCase() === QUERY_INDEX;
}

/** One search for the vectors of all. */
export function mergeSearches(plans: readonly [QueryPlan, ...QueryPlan[]]): QueryPlan {
  const [first] = plans;
  return { ...first, query: { ...first.query, vectors: plans.flatMap(({ query }) => query.vectors) } };
}

/** The results of so many merged searches, from all batches. `undefined` when they cannot be told apart. */
export function splitResult(files: readonly Buffer[], searches: number): readonly ResultFiles[] | undefined {
  const indexes = files.map((file) => readFixedColumn(file, QUERY_INDEX));
  const picker = new RowPicker(files.map(hideFirstColumn));
  if (files.length > 1 && picker.hasDictionaries) return undefined;
  const ranges = Array.from({ length: searches }, (): RowRange[] => []);
  for (const [source, { rows, values }] of indexes.entries()) {
    for (let row = 0; row < rows; row += 1) {
      const found = ranges[values.readInt32LE(QUERY_INDEX_BYTES * row)];
      if (found === undefined) return undefined;
      addRow(found, source, row);
    }
  }
  return ranges.map((found) => {
    const head = picker.pick(found, new Map());
    return { head, files: found.length === 0 ? [] : [head] };
  });
}

/** Consecutive rows become one range. */
function addRow(ranges: RowRange[], source: number, row: number): void {
  const last = ranges.at(-1);
  const isNext = last?.source === source && last.start + last.count === row;
  if (isNext) ranges.splice(-1, 1, { ...last, count: last.count + 1 });
  else ranges.push({ source, start: row, count: 1 });
}
