import { jsonWriter, writeRows } from '../../arrow/results/json-rows.ts';
import { addRow, countRows } from '../../arrow/results/row-picker.ts';
import type { RowRange } from '../../arrow/results/row-picker.ts';
import type { GuardedSql } from '../../model/query.ts';
import type { Field } from '../../model/schema.ts';
import type { QueryPlan } from '../queries/native-query.ts';
import { toGroupKey, toKeyCondition } from '../updates/point-update.ts';
import type { GroupKey, KeyName } from '../updates/point-update.ts';

/** The rows with one value in a column, which must be returned too. */
export interface Lookup {
  readonly column: KeyName;
  readonly field: Field;
  readonly key: GroupKey;
}

/** `undefined` for any other query. */
export function toLookup({ query, schema }: QueryPlan): Lookup | undefined {
  const { filter, projection, offset, fastSearch } = query;
  if (filter === undefined || projection?.kind === 'aliases' || (offset ?? 0) > 0 || fastSearch) return undefined;
  const condition = toKeyCondition(filter);
  if (condition === undefined) return undefined;
  const field = schema.fields.find(({ name }) => name === condition.key.name);
  const key = field === undefined ? undefined : toGroupKey(condition.literal, field);
  if (field === undefined || key === undefined) return undefined;
  const isReturned = projection?.paths.some(([name, ...inner]) => name === field.name && inner.length === 0) ?? true;
  return isReturned ? { column: condition.key, field, key } : undefined;
}

/** Equal for lookups that differ only in their keys. */
export function toLookupKind({ query }: QueryPlan, { column }: Lookup): string {
  return `${column.sql} ${JSON.stringify({ ...query, filter: undefined })}`;
}

/** One query for all keys, from plans that differ only in these. */
export function mergeLookups(plan: QueryPlan, lookups: readonly [Lookup, ...Lookup[]]): QueryPlan {
  const [{ column }] = lookups;
  const keys = [...new Set(lookups.map(({ key }) => key.sql))];
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Made of a name and literals that were guarded.
  const filter = `(${column.sql} IN (${keys.join(', ')}))` as GuardedSql;
  return { ...plan, query: { ...plan.query, filter, k: (plan.query.k ?? 0) * keys.length } };
}

/**
 * The rows of each merged lookup, from all batches. `undefined` if they cannot be told apart, or if a lookup may lack
 * rows because other keys have more than their share.
 */
export function findLookupRows(
  files: readonly Buffer[],
  lookups: readonly [Lookup, ...Lookup[]],
  rowsMax: number,
): readonly (readonly RowRange[])[] | undefined {
  const rangesOf = new Map(lookups.map(({ key }): [string, RowRange[]] => [key.json, []]));
  let rows = 0;
  for (const [source, file] of files.entries()) {
    let row = 0;
    for (const key of readKeys(file, lookups[0].field.name)) {
      const ranges = rangesOf.get(key);
      if (ranges === undefined) return undefined;
      addRow(ranges, source, row);
      row += 1;
    }
    rows += row;
  }
  const mayBeCut = rows >= rowsMax * rangesOf.size;
  if (mayBeCut && [...rangesOf.values()].some((ranges) => countRows(ranges) < rowsMax)) return undefined;
  return lookups.map(({ key }) => firstRows(rangesOf.get(key.json) ?? [], rowsMax));
}

/** The key of each row, as JSON. */
function readKeys(file: Buffer, name: string): Generator<string> {
  return writeRows(file, (columns, dictionaryOf) => {
    const column = columns.find(({ field }) => field.name === name);
    return column === undefined ? () => '' : jsonWriter(column, dictionaryOf);
  });
}

function firstRows(ranges: readonly RowRange[], rows: number): readonly RowRange[] {
  if (countRows(ranges) <= rows) return ranges;
  let left = rows;
  return ranges.flatMap((range) => {
    const count = Math.min(range.count, left);
    left -= count;
    return count === 0 ? [] : [{ ...range, count }];
  });
}
