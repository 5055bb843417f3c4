import { hideFirstColumn } from '../../arrow/results/result-file.ts';
import { RowPicker, readFixedColumn } from '../../arrow/results/row-picker.ts';
import type { RowRange } from '../../arrow/results/row-picker.ts';
import type { QueryPlan } from '../queries/native-query.ts';
import type { VectorColumn } from '../queries/vector-column.ts';
import type { ReadKind } from './shared-reads.ts';

/** Larger results are sent while they are read; those of a group are held. */
const ROWS_MAX = 100;

/**
 * Searches that differ in their vectors alone: the engine takes several at once. `undefined` for a query that always runs
 * by itself.
 */
export function toReadKind(plan: QueryPlan): ReadKind | undefined {
  const { query, schema, search, vectorColumn } = plan;
  const { k = Infinity, vectors, projection, orderBy } = query;
  if (vectorColumn === undefined || vectorColumn.isMultiVector || vectors.length !== 1) return undefined;
  if (search !== undefined || orderBy !== undefined || k > ROWS_MAX) return undefined;
  if (schema.fields.some(({ name }) => isQueryIndex(name))) return undefined;
  if (projection?.kind === 'aliases' && projection.columns.some(([name]) => isQueryIndex(name))) return undefined;
  return { name: nameOf(plan, vectorColumn), merge, split };
}

/** The engine's name for the number of the vector that a row was found for; the first column of the result. */
const QUERY_INDEX = 'query_index';
const QUERY_INDEX_BYTES = 4;

function isQueryIndex(name: string): boolean {
  return name.toLowerCase() === QUERY_INDEX;
}

/** A search that names no column finds it by the length of its vector. */
function nameOf({ query }: QueryPlan, { path }: VectorColumn): string {
  return JSON.stringify({ ...query, vectors: query.vectors[0]?.length, vectorColumn: path });
}

function merge(plans: readonly QueryPlan[]): QueryPlan {
  const [first] = plans;
  if (first === undefined) throw new Error('A group has members.');
  return { ...first, query: { ...first.query, vectors: plans.flatMap(({ query }) => query.vectors) } };
}

const split: ReadKind['split'] = (files, plans) => {
  const indexes = files.map((file) => readFixedColumn(file, QUERY_INDEX));
  const picker = new RowPicker(files.map(hideFirstColumn));
  if (files.length > 1 && picker.hasDictionaries) return undefined;
  const ranges: RowRange[][] = plans.map(() => []);
  for (const [source, { rows, values }] of indexes.entries()) {
    for (let row = 0; row < rows; row += 1) {
      const member = ranges[values.readInt32LE(QUERY_INDEX_BYTES * row)];
      if (member === undefined) return undefined;
      addRow(member, source, row);
    }
  }
  return ranges.map((member) => {
    const head = picker.pick(member, new Map());
    return { head, files: member.length === 0 ? [] : [head] };
  });
};

/** Consecutive rows become one range. */
function addRow(ranges: RowRange[], source: number, row: number): void {
  const last = ranges.at(-1);
  const isNext = last?.source === source && last.start + last.count === row;
  if (isNext) ranges.splice(-1, 1, { ...last, count: last.count + 1 });
  else ranges.push({ source, start: row, count: 1 });
}
