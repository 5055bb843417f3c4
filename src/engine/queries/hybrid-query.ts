import { setImmediate as nextTurn } from 'node:timers/promises';
import { hideLastColumn } from '../../arrow/results/result-file.ts';
import type { ResultFiles } from '../../arrow/results/result-framing.ts';
import { RowPicker, readFixedColumn } from '../../arrow/results/row-picker.ts';
import type { FloatValues, RowRange } from '../../arrow/results/row-picker.ts';
import { invalidInput } from '../../errors/service-error.ts';
import { sqlFieldReference } from '../../model/field-path.ts';
import { engineCall } from '../native/engine-errors.ts';
import type { NativeTable } from '../native/native.ts';
import { searchColumn } from './full-text-query.ts';
import { searchLegs } from './hybrid-legs.ts';
import { requireColumn, requireOneSearch } from './native-query.ts';
import type { HybridPlan, QueryPlan } from './native-query.ts';
import type { FusedRow } from './rank-fusion.ts';
import { idsInTurns, visitInTurns } from '../row-turns.ts';

/**
 * A search by vector and full text. The engine's own replaces distances and scores by normalized values in a single
 * column. So both legs return only row ids and their measure, ranks are fused here, and the remaining rows are read by
 * id. Returns `undefined` if there are none.
 */
export async function runHybrid(
  table: NativeTable,
  plan: HybridPlan,
  batchRows: number,
): Promise<ResultFiles | undefined> {
  requireHybrid(plan);
  const { rows } = await searchLegs(table, plan, batchRows);
  return takeFusedRows(table, plan, rows, batchRows);
}

/** Refuses what a hybrid search cannot do, and columns that it cannot return, before searching. */
export function requireHybrid(plan: HybridPlan): void {
  requireOneSearch(plan);
  chooseColumns(plan);
}

/** `undefined` if there are no rows. */
export async function takeFusedRows(
  table: NativeTable,
  plan: HybridPlan,
  rows: readonly FusedRow[],
  batchRows: number,
): Promise<ResultFiles | undefined> {
  if (rows.length === 0) return undefined;
  const taken: Buffer[] = [];
  const query = table.takeRowIds(await idsInTurns(rows));
  query.select([...chooseColumns(plan)]);
  const batches = await engineCall(async () => query.execute(batchRows, null));
  for (;;) {
    const file = await engineCall(async () => batches.next());
    if (file === null) return toResult(rows, taken, { batchRows, hidesRowId: !returnsRowId(plan) });
    taken.push(file);
  }
}

const MEASURES = ['_distance', '_score', '_relevance_score'] as const;
const ADDED: ReadonlySet<string> = new Set(['_rowid', ...MEASURES]);

export function returnsRowId({ query: { withRowId, projection } }: QueryPlan): boolean {
  return withRowId || (projection?.kind === 'names' && projection.paths.some((path) => isNamed(path, '_rowid')));
}

function isNamed(path: readonly string[], name: string): boolean {
  return path.length === 1 && path[0] === name;
}

/**
 * Columns and their expressions. The measures are placeholders that are filled in later. They follow the other columns,
 * unless the query names them; a row id that was not requested comes last.
 */
export function chooseColumns(plan: QueryPlan): readonly [string, string][] {
  const columns = chooseTableColumns(plan);
  const names = new Set(columns.map(([name]) => name));
  const added = returnsRowId(plan) ? ['_distance', '_score', '_rowid', '_relevance_score'] : [...MEASURES, '_rowid'];
  return [...columns, ...added.filter((name) => !names.has(name)).map(toAdded)];
}

function chooseTableColumns({ query, schema }: QueryPlan): readonly [string, string][] {
  const { projection = { kind: 'names', paths: schema.fields.map(({ name }) => [name] as const) } as const } = query;
  if (projection.kind === 'aliases') {
    return projection.columns.map(([alias, expression]) => {
      if (!ADDED.has(alias)) return [alias, expression];
      throw invalidInput(`A hybrid search already returns a column named ${alias}.`, 'Choose another alias.');
    });
  }
  return projection.paths.map((path) => {
    if (path.length === 1 && ADDED.has(path[0])) return toAdded(path[0]);
    requireColumn(schema, path);
    return [searchColumn(path), sqlFieldReference(path)];
  });
}

function toAdded(name: string): [string, string] {
  if (name === '_rowid') return [name, '_rowid'];
  return [name, name === '_relevance_score' ? 'CAST(0 AS FLOAT)' : 'CAST(NULL AS FLOAT)'];
}

interface Output {
  readonly batchRows: number;
  readonly hidesRowId: boolean;
}

/** The engine returns rows in order of ids, in batches of one fragment each. */
async function toResult(
  rows: readonly FusedRow[],
  taken: readonly Buffer[],
  { batchRows, hidesRowId }: Output,
): Promise<ResultFiles> {
  const places = new Map<bigint, RowRange>();
  for (const [source, file] of taken.entries()) {
    const ids = readFixedColumn(file, '_rowid');
    for (let row = 0; row < ids.rows; row += 1) {
      places.set(ids.values.readBigUInt64LE(8 * row), { source, start: row, count: 1 });
    }
    await nextTurn();
  }
  const picker = new RowPicker(hidesRowId ? taken.map(hideLastColumn) : taken);
  const found: PlacedRow[] = [];
  await visitInTurns(rows, (row) => {
    const place = places.get(row.id);
    if (place !== undefined) found.push({ row, place });
  });
  const pick = (part: readonly PlacedRow[]): Buffer =>
    picker.pick(
      part.map(({ place }) => place),
      toMeasures(part.map(({ row }) => row)),
    );
  const parts = split(found, { rowsMax: batchRows, bySource: picker.hasDictionaries });
  const { value: first = [] } = parts.next();
  const head = pick(first);
  return { head, files: first.length === found.length ? [head] : pickLater(head, parts, pick) };
}

interface PlacedRow {
  readonly row: FusedRow;
  readonly place: RowRange;
}

function* split(
  rows: readonly PlacedRow[],
  { rowsMax, bySource }: { readonly rowsMax: number; readonly bySource: boolean },
): Generator<readonly PlacedRow[], undefined> {
  let start = 0;
  for (let end = 1; end <= rows.length; end += 1) {
    const isSame = !bySource || rows[end]?.place.source === rows[start]?.place.source;
    if (end < rows.length && end - start < rowsMax && isSame) continue;
    yield rows.slice(start, end);
    start = end;
  }
}

/** Builds later batches when the reader asks for them. */
async function* pickLater(
  head: Buffer,
  parts: Iterable<readonly PlacedRow[]>,
  pick: (part: readonly PlacedRow[]) => Buffer,
): AsyncGenerator<Buffer> {
  yield head;
  for (const part of parts) yield pick(part);
}

function toMeasures(rows: readonly FusedRow[]): ReadonlyMap<string, FloatValues> {
  return new Map<string, FloatValues>([
    ['_distance', rows.map(({ distance }) => distance)],
    ['_score', rows.map(({ score }) => score)],
    ['_relevance_score', rows.map(({ relevance }) => relevance)],
  ]);
}
