import { writeValues } from '../../arrow/results/json-rows.ts';
import { readResultFile } from '../../arrow/results/result-file.ts';
import { readResultSchema } from '../../arrow/schema/schema-reader.ts';
import type { ColumnsOfDiff, DiffKey } from './diff-columns.ts';
import type { RowChange } from './row-matcher.ts';
import { takeRows } from './version-rows.ts';
import type { RowReading } from './version-rows.ts';

/** A change with its values as JSON text, so that numbers keep all digits. */
export interface ShownRow {
  readonly change: RowChange['change'];
  readonly key: string;
  readonly before: string | undefined;
  readonly after: string | undefined;
  /** For a changed row: the columns whose values differ. */
  readonly changed: readonly string[] | undefined;
}

export interface ShownChanges {
  readonly before: RowReading;
  readonly after: RowReading;
  readonly key: DiffKey;
  readonly columns: ColumnsOfDiff;
  /** Once the texts are longer than this, no row is added. */
  readonly charactersMax: number;
}

const CHANGES_AT_ONCE = 128;

/** The rows of the changes, as far as they fit. */
export async function showRows(changes: readonly RowChange[], shown: ShownChanges): Promise<readonly ShownRow[]> {
  const rows: ShownRow[] = [];
  let characters = 0;
  for (let from = 0; from < changes.length; from += CHANGES_AT_ONCE) {
    const some = changes.slice(from, from + CHANGES_AT_ONCE);
    const before = await readValues(
      shown.before,
      some.flatMap((change) => ('before' in change ? change.before : [])),
    );
    const after = await readValues(
      shown.after,
      some.flatMap((change) => ('after' in change ? change.after : [])),
    );
    for (const change of some) {
      const row = toShownRow(change, { before, after }, shown);
      characters += row.key.length + (row.before?.length ?? 0) + (row.after?.length ?? 0);
      if (characters > shown.charactersMax) return rows;
      rows.push(row);
    }
  }
  return rows;
}

/** Values as JSON, by column name. */
type Values = ReadonlyMap<string, string>;
type ValuesById = ReadonlyMap<string, Values>;

async function readValues(reading: RowReading, ids: readonly bigint[]): Promise<ValuesById> {
  const found = new Map<string, Values>();
  for await (const file of takeRows(reading, ids)) {
    const { fields } = readResultSchema(readResultFile(file).schema).schema;
    for (const texts of writeValues(file)) {
      const values = new Map(fields.map(({ name }, at) => [name, texts[at] ?? 'null']));
      found.set(values.get(ROW_ID) ?? '', values);
    }
  }
  return found;
}

const ROW_ID = '_rowid';

function toShownRow(
  change: RowChange,
  values: { readonly before: ValuesById; readonly after: ValuesById },
  { key, columns }: ShownChanges,
): ShownRow {
  const before = 'before' in change ? values.before.get(String(change.before)) : undefined;
  const after = 'after' in change ? values.after.get(String(change.after)) : undefined;
  const keyNames = key.kind === 'row-ids' ? [ROW_ID] : key.columns;
  return {
    change: change.change,
    key: toObject(keyNames, after ?? before),
    before: before && toObject(columns.shownBefore, before),
    after: after && toObject(columns.shownAfter, after),
    changed: before && after && columns.compared.filter((name) => before.get(name) !== after.get(name)),
  };
}

function toObject(names: readonly string[], values: Values = new Map()): string {
  return `{${names.map((name) => `${JSON.stringify(name)}:${values.get(name) ?? 'null'}`).join(',')}}`;
}
