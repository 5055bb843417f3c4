import { jsonWriter, writeRows } from '../../arrow/results/json-rows.ts';
import { hideFirstColumn } from '../../arrow/results/result-file.ts';
import type { ResultFiles } from '../../arrow/results/result-framing.ts';
import { RowPicker, readFixedColumn } from '../../arrow/results/row-picker.ts';
import type { RowRange } from '../../arrow/results/row-picker.ts';
import type { GuardedSql, Query } from '../../model/query.ts';
import type { Field } from '../../model/schema.ts';
import type { QueryPlan } from '../queries/native-query.ts';
import { toGroupKey, toKeyCondition } from '../updates/point-update.ts';
import type { GroupKey, KeyName } from '../updates/point-update.ts';
import type { ReadKind } from './shared-reads.ts';

/** Larger results are sent while they are read; those of a group are held. */
const ROWS_MAX = 100;

/** `undefined` for a query that always runs by itself. */
export function toReadKind(plan: QueryPlan): ReadKind | undefined {
  const { query, search, vectorColumn } = plan;
  const { k = Infinity } = query;
  if (search !== undefined || query.orderBy !== undefined || k > ROWS_MAX) return undefined;
  if (vectorColumn === undefined) return toLookupKind(plan, k);
  return vectorColumn.isMultiVector || query.vectors.length > 1 ? undefined : toSearchKind(plan);
}

/** The engine's name for the number of the vector that a row was found for; the first column of the result. */
const QUERY_INDEX = 'query_index';
const QUERY_INDEX_BYTES = 4;

/** Searches that differ in their vectors alone: the engine takes several at once. */
function toSearchKind({ query, schema }: QueryPlan): ReadKind | undefined {
  if (schema.fields.some(({ name }) => name.toLowerCase() === QUERY_INDEX)) return undefined;
  const { projection } = query;
  if (projection?.kind === 'aliases' && projection.columns.some(([name]) => name === QUERY_INDEX)) return undefined;
  return {
    name: nameOf('search', { ...query, vectors: [] }),
    merge(plans) {
      const [first = noPlan()] = plans;
      return { ...first, query: { ...first.query, vectors: plans.flatMap((plan) => plan.query.vectors) } };
    },
    split(files, plans) {
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
      return ranges.map((member) => toResult(picker, member));
    },
  };
}

interface Lookup {
  readonly column: KeyName;
  readonly key: GroupKey;
  readonly field: Field;
}

/** Lookups by different keys of one column, which is among the returned ones. */
function toLookupKind(plan: QueryPlan, k: number): ReadKind | undefined {
  const lookup = toLookup(plan);
  if (lookup === undefined) return undefined;
  const { column, field } = lookup;
  const keysOf = (plans: readonly QueryPlan[]): readonly GroupKey[] =>
    plans.map((each) => (toLookup(each) ?? noPlan()).key);
  return {
    name: nameOf(`lookup ${column.sql}`, { ...plan.query, filter: undefined }),
    merge(plans) {
      const list = [...new Set(keysOf(plans).map(({ sql }) => sql))].join(', ');
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Made of a name and literals that were guarded.
      const filter = `(${column.sql} IN (${list}))` as GuardedSql;
      // One row more than they may have together shows that some key has too many.
      return { ...plan, query: { ...plan.query, filter, k: k * plans.length + 1 } };
    },
    split(files, plans) {
      const picker = new RowPicker(files);
      if (files.length > 1 && picker.hasDictionaries) return undefined;
      const keys = keysOf(plans);
      const rows = new Map(keys.map(({ json }): [string, RowRange[]] => [json, []]));
      let count = 0;
      for (const [source, file] of files.entries()) {
        for (const [row, key] of [...readKeys(file, field.name)].entries()) {
          const found = rows.get(key);
          if (found === undefined) return undefined;
          addRow(found, source, row);
          count += 1;
        }
      }
      if (count > k * plans.length) return undefined;
      return keys.map(({ json }) => toResult(picker, firstRows(rows.get(json) ?? [], k)));
    },
  };
}

function toLookup({ query, schema }: QueryPlan): Lookup | undefined {
  const { filter, projection, offset, fastSearch } = query;
  if (filter === undefined || projection?.kind === 'aliases' || (offset ?? 0) > 0 || fastSearch) return undefined;
  const condition = toKeyCondition(filter);
  if (condition === undefined) return undefined;
  const field = schema.fields.find(({ name }) => name === condition.key.name);
  const key = field === undefined ? undefined : toGroupKey(condition.literal, field);
  if (field === undefined || key === undefined) return undefined;
  const isReturned = projection?.paths.some(([name, ...inner]) => name === field.name && inner.length === 0) ?? true;
  return isReturned ? { column: condition.key, key, field } : undefined;
}

/** The key of each row, as JSON. */
function readKeys(file: Buffer, name: string): Generator<string> {
  return writeRows(file, (columns, dictionaryOf) => {
    const column = columns.find(({ field }) => field.name === name);
    return column === undefined ? () => '' : jsonWriter(column, dictionaryOf);
  });
}

function toResult(picker: RowPicker, ranges: readonly RowRange[]): ResultFiles {
  const head = picker.pick(ranges, new Map());
  return { head, files: ranges.length === 0 ? [] : [head] };
}

/** Consecutive rows become one range. */
function addRow(ranges: RowRange[], source: number, row: number): void {
  const last = ranges.at(-1);
  const isNext = last?.source === source && last.start + last.count === row;
  if (isNext) ranges.splice(-1, 1, { ...last, count: last.count + 1 });
  else ranges.push({ source, start: row, count: 1 });
}

function firstRows(ranges: readonly RowRange[], rows: number): readonly RowRange[] {
  let left = rows;
  return ranges.flatMap((range) => {
    const count = Math.min(range.count, left);
    left -= count;
    return count === 0 ? [] : [{ ...range, count }];
  });
}

function nameOf(kind: string, query: Omit<Query, 'filter'> & { readonly filter?: string | undefined }): string {
  return `${kind} ${JSON.stringify(query)}`;
}

function noPlan(): never {
  throw new Error('A group has members, all of one kind.');
}
