import { writeValues } from '../../arrow/results/json-rows.ts';
import { readResultFile } from '../../arrow/results/result-file.ts';
import { readResultSchema } from '../../arrow/schema/schema-reader.ts';
import { parseFieldPath, resolveField } from '../../model/field-path.ts';
import { isVectorIndexType } from '../../model/index-spec.ts';
import type { IndexDescription } from '../../model/index-spec.ts';
import { DISTANCE_TYPES } from '../../model/query.ts';
import type { DistanceType, GuardedSql, Query } from '../../model/query.ts';
import { TUNED_RESULTS, toSearchParameters } from '../../model/tuning/search-tuning.ts';
import type { SearchSettings } from '../../model/tuning/search-tuning.ts';
import { engineCall } from '../native/engine-errors.ts';
import type { NativeBatches, NativeTable } from '../native/native.ts';
import type { EngineParts } from '../parts.ts';
import { buildVectorSearch, planQuery } from '../queries/native-query.ts';
import { searchColumn } from '../queries/full-text-query.ts';
import { findVectorType } from '../queries/vector-column.ts';
import { readVersion, toOpenTable } from '../tables/table-handle.ts';
import type { OpenTable, TableRef } from '../tables/table-handle.ts';
import { toIndexDescription } from './native-index.ts';

/** Searches per engine call; others get their turn in between. */
const SEARCHES_AT_ONCE = 8;
const ROWS_AT_ONCE = 8192;

/** Exact neighbors per query: enough that `TUNED_RESULTS` of them pass the narrowest filter. */
const NEIGHBOURS = 2000;

/** Fewer rows than this are compared one by one quickly anyway. */
const ROWS_MIN = 1000;

export interface RecallMeasurement {
  readonly recall: number;
  /** Per search. */
  readonly milliseconds: number;
}

/** An index, and sampled rows of its table as queries whose exact neighbors are known. */
export interface SearchSample {
  readonly index: IndexDescription;
  readonly column: string;
  readonly dimension: number;
  readonly distanceType: DistanceType | undefined;
  readonly rows: number;
  /** The time of a search that compares every row. */
  readonly exactMilliseconds: number;
  /** Stops early if the recall is far below the goal. */
  measure(settings: SearchSettings, share: number, goal: number): Promise<RecallMeasurement>;
  close(): void;
}

export interface SampleRequest {
  readonly index: string;
  readonly queriesMax: number;
  /** No exact search starts after this time. */
  readonly milliseconds: number;
}

/** `undefined` if there is nothing to measure: no vector index, few rows, or several vectors per row. */
export async function openSample(
  parts: EngineParts,
  ref: TableRef,
  { index: name, queriesMax, milliseconds }: SampleRequest,
): Promise<SearchSample | undefined> {
  const native = await parts.tables.openPrivate(ref);
  try {
    // Rows added meanwhile would count as missed.
    const version = await readVersion(native);
    await engineCall(async () => native.checkout(version));
    const table = toOpenTable(native, version);
    const index = await findVectorIndex(native, name);
    const rows = await engineCall(async () => native.countRows());
    const [column = ''] = index?.columns ?? [];
    const type = resolveField(await table.schema(), parseFieldPath(column))?.type;
    const vector = type === undefined ? undefined : findVectorType(type);
    const sampled = { parts, table, column, rows, distanceType: index && (await findDistance(native, index)) };
    const startedAt = performance.now();
    const queries =
      vector === undefined || vector.isMultiVector || rows < ROWS_MIN
        ? []
        : await takeQueries(sampled, queriesMax, startedAt + milliseconds);
    const exactMilliseconds = (performance.now() - startedAt) / Math.max(queries.length, 1);
    if (index === undefined || vector === undefined || queries.length === 0) {
      native.close();
      return undefined;
    }
    return {
      index,
      column,
      dimension: vector.dimension,
      distanceType: sampled.distanceType,
      rows,
      exactMilliseconds,
      measure: async (settings, share, goal) => measureRecall(sampled, queries, { settings, share, goal }),
      close: () => native.close(),
    };
  } catch (error) {
    native.close();
    throw error;
  }
}

interface SampledTable {
  readonly parts: EngineParts;
  readonly table: OpenTable;
  readonly column: string;
  readonly rows: number;
  readonly distanceType: DistanceType | undefined;
}

interface SampleQuery {
  readonly rowId: string;
  readonly vector: readonly number[];
  /** Without the row itself, nearest first. */
  readonly neighbours: readonly Neighbour[];
}

interface Neighbour {
  readonly rowId: string;
  readonly distance: number;
}

async function findVectorIndex(native: NativeTable, name: string): Promise<IndexDescription | undefined> {
  const indexes = await engineCall(async () => native.listIndices());
  return indexes.map(toIndexDescription).find((index) => index.name === name && isVectorIndex(index));
}

export function isVectorIndex({ type, columns }: IndexDescription): boolean {
  return isVectorIndexType(type) && columns.length === 1;
}

export async function findDistance(native: NativeTable, { name }: IndexDescription): Promise<DistanceType | undefined> {
  const statistics = await engineCall(async () => native.indexStats(name));
  return DISTANCE_TYPES.find((type) => type === statistics?.distanceType?.toLowerCase());
}

/** Samples rows from all parts of the table with their exact neighbors, as many as the time allows. */
async function takeQueries(sampled: SampledTable, max: number, until: number): Promise<readonly SampleQuery[]> {
  const rows = await takeRows(sampled, max);
  const queries: SampleQuery[] = [];
  for (let from = 0; from < rows.length && (from === 0 || performance.now() < until); from += SEARCHES_AT_ONCE) {
    const some = rows.slice(from, from + SEARCHES_AT_ONCE);
    const vectors = some.map(({ vector }) => vector);
    const found = await search(sampled, { vectors, k: Math.min(NEIGHBOURS, sampled.rows), bypassVectorIndex: true });
    some.forEach((row, at) => {
      const neighbours = (found[at] ?? []).filter(({ rowId }) => rowId !== row.rowId);
      queries.push({ ...row, neighbours: neighbours.toSorted((one, other) => one.distance - other.distance) });
    });
  }
  return queries;
}

/** If most rows have no vector, this many times as many are sampled. */
const SPARSE_FACTOR = 20;

async function takeRows(sampled: SampledTable, max: number) {
  const found = await takeVectors(sampled, max);
  return found.length >= max / 2 ? found : (await takeVectors(sampled, max * SPARSE_FACTOR)).slice(0, max);
}

const GOLDEN_RATIO = (Math.sqrt(5) - 1) / 2;

async function takeVectors({ table, column, rows }: SampledTable, max: number) {
  // Spread evenly, but not periodically: every second row may be one without a vector.
  const offsets = Array.from({ length: max }, (_unused, at) => Math.floor(((at * GOLDEN_RATIO) % 1) * rows));
  const take = table.native.takeOffsets([...new Set(offsets)]);
  const name = searchColumn(parseFieldPath(column));
  take.selectColumns([name]);
  take.withRowId();
  const found: { rowId: string; vector: readonly number[] }[] = [];
  for await (const row of readRows(await engineCall(async () => take.execute(ROWS_AT_ONCE, null)))) {
    const vector: unknown = JSON.parse(row.get(name) ?? 'null');
    if (isVector(vector)) found.push({ rowId: row.get('_rowid') ?? '', vector });
  }
  return found.toSorted((one, other) => scatter(Number(one.rowId)) - scatter(Number(other.rowId)));
}

function scatter(number: number): number {
  return (number * 7919) % 100_003;
}

/** Not null, and without values that have no distance. */
function isVector(value: unknown): value is readonly number[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'number');
}

interface Measured {
  readonly settings: SearchSettings;
  readonly share: number;
  readonly goal: number;
}

/** If recall is this far below the goal, more queries change nothing. */
const HOPELESS = 0.2;
/** If no row is missed, this many queries are enough, and at least this share of them. */
const SEARCHES_ENOUGH = 2 * SEARCHES_AT_ONCE;
const ENOUGH_PART = 0.4;

async function measureRecall(
  sampled: SampledTable,
  queries: readonly SampleQuery[],
  { settings, share, goal }: Measured,
): Promise<RecallMeasurement> {
  const filter = toFilter(share);
  // Without extra partitions, because whether the engine adds some depends on the filter by chance.
  const parameters = toSearchParameters(settings, { results: TUNED_RESULTS, isFiltered: false });
  const enough = Math.max(SEARCHES_ENOUGH, queries.length * ENOUGH_PART);
  let [found, wanted, searches, milliseconds] = [0, 0, 0, 0];
  for (let from = 0; from < queries.length; from += SEARCHES_AT_ONCE) {
    const some = queries.slice(from, from + SEARCHES_AT_ONCE);
    const startedAt = performance.now();
    const vectors = some.map(({ vector }) => vector);
    const results = await search(sampled, { vectors, k: TUNED_RESULTS, ...parameters, ...(filter && { filter }) });
    milliseconds += performance.now() - startedAt;
    searches += some.length;
    some.forEach((query, at) => {
      const nearest = listNearest(query, share);
      found += Math.min(nearest.count, (results[at] ?? []).filter(({ rowId }) => nearest.rowIds.has(rowId)).length);
      wanted += nearest.count;
    });
    if (wanted > 0 && found / wanted < goal - HOPELESS) break;
    if (found === wanted && searches >= enough) break;
  }
  return { recall: wanted === 0 ? 1 : found / wanted, milliseconds: milliseconds / Math.max(searches, 1) };
}

/**
 * The nearest rows that pass the filter; among rows at the same distance, any counts. The query row itself, which every
 * index finds, does not count, but occupies one result.
 */
function listNearest({ rowId: own, neighbours }: SampleQuery, share: number) {
  const passing = neighbours.filter(({ rowId }) => passes(rowId, share));
  const count = Math.min(TUNED_RESULTS - (passes(own, share) ? 1 : 0), passing.length);
  const farthest = passing[count - 1]?.distance ?? 0;
  return { count, rowIds: new Set(passing.filter(({ distance }) => distance <= farthest).map(({ rowId }) => rowId)) };
}

const HASH_FACTOR = 7919;
const HASH_MODULUS = 100_003;

/** Lets a pseudorandom share of the rows pass. Works on every table and reads no column. */
function toFilter(share: number): GuardedSql | undefined {
  if (share >= 1) return undefined;
  const text = `CAST(_rowid AS BIGINT) * ${HASH_FACTOR} % ${HASH_MODULUS} < ${Math.round(share * HASH_MODULUS)}`;
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Written here, from numbers.
  return text as GuardedSql;
}

/** Evaluates the filter of `toFilter`. */
function passes(rowId: string, share: number): boolean {
  if (share >= 1) return true;
  return Number((BigInt(rowId) * BigInt(HASH_FACTOR)) % BigInt(HASH_MODULUS)) < Math.round(share * HASH_MODULUS);
}

/** The results for each vector. */
async function search(
  { parts, table, column, distanceType }: SampledTable,
  wanted: Pick<Query, 'vectors' | 'k'> & Partial<Query>,
): Promise<readonly (readonly Neighbour[])[]> {
  const query: Query = {
    prefilter: true,
    bypassVectorIndex: false,
    fastSearch: false,
    withRowId: true,
    vectorColumn: parseFieldPath(column),
    projection: { kind: 'names', paths: [['_rowid'], ['_distance']] },
    ...(distanceType === undefined ? {} : { distanceType }),
    ...wanted,
  };
  const plan = await planQuery(parts, table, query);
  const { vectorColumn } = plan;
  if (vectorColumn === undefined) return [];
  const batches = await engineCall(async () =>
    buildVectorSearch(table.native, plan, vectorColumn).execute(ROWS_AT_ONCE, Math.ceil(parts.querySeconds * 1000)),
  );
  const results: Neighbour[][] = query.vectors.map(() => []);
  for await (const row of readRows(batches)) {
    const distance = Number(row.get('_distance'));
    results[Number(row.get('query_index') ?? 0)]?.push({ rowId: row.get('_rowid') ?? '', distance });
  }
  return results;
}

/** Values as JSON, by column name. */
async function* readRows(batches: NativeBatches): AsyncGenerator<ReadonlyMap<string, string>> {
  for (let file = await nextFile(batches); file !== null; file = await nextFile(batches)) {
    const { fields } = readResultSchema(readResultFile(file).schema).schema;
    for (const values of writeValues(file)) {
      yield new Map(fields.map(({ name }, at) => [name, values[at] ?? 'null']));
    }
  }
}

async function nextFile(batches: NativeBatches): Promise<Buffer | null> {
  return engineCall(async () => batches.next());
}
