import type { ApiClient } from '../../client/api-client.ts';
import { listIndexes, createTable } from '../../client/tables.ts';
import { countRows, insertRows, openQuery, queryRows } from '../../client/rows.ts';
import { columnsToStream } from '../../formats/arrow/arrow-stream.ts';
import type { TablePath } from '../../model/identifier.ts';
import type { QueryTableBody, UpdateTableBody } from '../../wire/data.ts';
import { UsageError } from '../command.ts';
import { requireAssignments } from '../data/change-rows.ts';
import { listVectorColumns, toNumbers } from '../data/query.ts';
import { showPath } from '../session.ts';
import type { Session } from '../session.ts';
import { countOf } from '../show/text.ts';

/** The table that is measured, and the bodies of requests by their number. Kinds that it does not support are `undefined`. */
export interface Subject {
  readonly table: TablePath;
  /** Where writes go; the main branch when absent. */
  readonly branch?: string;
  /** What kind of table this is, for people. */
  readonly described: string;
  readonly search: ((request: number) => QueryTableBody) | undefined;
  readonly filter: ((request: number) => QueryTableBody) | undefined;
  readonly update: ((request: number) => UpdateTableBody) | undefined;
  /** Arrow streams. */
  readonly rowsToInsert: Uint8Array | undefined;
  readonly rowsToCreate: Uint8Array;
  /** Unique names of tables that are created while measuring. */
  readonly tableToCreate: (request: number) => TablePath;
}

const VECTORS_TAKEN = 100;
const WRITE_ROWS = 100;

interface Named {
  /** Of the branch, and the prefix of tables that are created. */
  readonly name: string;
  readonly limit: number;
  readonly canWrite: boolean;
}

/** An existing table: searched with vectors from its rows, filtered by --where. */
export async function namedSubject(
  session: Session,
  table: TablePath,
  { name, limit, canWrite }: Named,
): Promise<Subject> {
  const { client, given, sqlTexts } = session;
  const filter = given.value('where');
  if (filter !== undefined) for (const field of ['filter', 'predicate']) sqlTexts.set(field, filter);
  // Copies of its first rows are sure to fit the schema.
  const copies = canWrite ? await openQuery(client, table, { k: WRITE_ROWS }) : undefined;
  return {
    table,
    ...(canWrite ? { branch: name } : {}),
    rowsToInsert: copies && new Uint8Array(await copies.arrayBuffer()),
    described: await describe(client, table),
    search: await findSearch(session, table, limit),
    filter: filter === undefined ? undefined : () => ({ filter, k: limit }),
    update: canWrite ? findUpdate(session, filter) : undefined,
    rowsToCreate: sampleRows(0, WRITE_ROWS),
    tableToCreate: (request) => [`${name}-${request}`],
  };
}

async function describe(client: ApiClient, table: TablePath): Promise<string> {
  const [rows, indexes] = await Promise.all([countRows(client, table), listIndexes(client, table)]);
  const built = indexes.map(({ columns, index_type: type }) => `${type} on ${columns.join(', ')}`);
  return `${showPath(table)}: ${countOf(rows, 'row')}, ${built.length === 0 ? 'no index' : built.join(', ')}`;
}

async function findSearch({ client, given }: Session, table: TablePath, k: number): Promise<Subject['search']> {
  const column = given.value('vector-column') ?? (await listVectorColumns(client, table, {}))[0];
  if (column === undefined) return undefined;
  const rows = await queryRows(client, table, { columns: { column_aliases: { vector: column } }, k: VECTORS_TAKEN });
  const vectors = rows.map((row) => toNumbers(row['vector'])).filter((vector) => vector !== undefined);
  if (vectors.length === 0) return undefined;
  return (request) => searchBody(vectors[request % vectors.length] ?? [], column, k);
}

function searchBody(vector: number[], column: string, k: number): QueryTableBody {
  return { vector: { single_vector: vector }, vector_column: column, k };
}

function findUpdate(session: Session, predicate: string | undefined): Subject['update'] {
  if (!session.given.has('set')) return undefined;
  if (predicate === undefined) throw new UsageError('Say which rows are updated with --where SQL.');
  const updates = requireAssignments(session);
  return () => ({ updates, predicate });
}

const PART_ROWS = 10_000;
const DIMENSIONS = 128;

interface Sample {
  readonly name: string;
  readonly rows: number;
  readonly limit: number;
}

export function sampleSubject({ name, rows, limit }: Sample): Subject {
  const written = sampleRows(rows, WRITE_ROWS);
  // Jumps about: no request finds what the one before has just read.
  const predicate = (request: number): string => `id = ${(request * 7919) % rows}`;
  return {
    table: [name],
    described: `a sample table: ${countOf(rows, 'row')}, vectors of ${DIMENSIONS} numbers, no index`,
    search: (request) => searchBody(sampleVector(-1 - request), 'vector', limit),
    filter: (request) => ({ filter: predicate(request), k: limit }),
    update: (request) => ({ updates: [['price', 'price + 1']], predicate: predicate(request) }),
    rowsToInsert: written,
    rowsToCreate: written,
    tableToCreate: (request) => [`${name}-${request}`],
  };
}

/** Sends the sample table in parts, to need little memory here. */
export async function createSample(client: ApiClient, { name, rows }: Sample, stop: AbortSignal): Promise<void> {
  for (let first = 0; first < rows && !stop.aborted; first += PART_ROWS) {
    const part = sampleRows(first, Math.min(PART_ROWS, rows - first));
    if (first === 0) await createTable(client, [name], part);
    else await insertRows(client, [name], part);
  }
}

const WORDS = ['amber', 'birch', 'cobalt', 'dune', 'ember', 'fern', 'garnet', 'heath'];

/** Rows of the sample table, the same in every run: a number, a text, a price and a vector. */
function sampleRows(first: number, count: number): Uint8Array {
  const ids = Array.from({ length: count }, (_unused, index) => first + index);
  return columnsToStream([
    { name: 'id', type: 'int64', values: ids.map((id) => BigInt(id)) },
    { name: 'title', type: 'utf8', values: ids.map((id) => `${WORDS[id % 8]} ${WORDS[(id >> 3) % 8]} number ${id}`) },
    { name: 'price', type: 'float64', values: ids.map((id) => ((id * 37) % 1000) / 4) },
    { name: 'vector', type: `float32[${DIMENSIONS}]`, values: ids.map(sampleVector) },
  ]);
}

/** Numbers from -1 to 1 that look random and depend on the row alone. */
function sampleVector(row: number): number[] {
  let state = (row * 2_654_435_761 + 1) >>> 0;
  return Array.from({ length: DIMENSIONS }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 31 - 1;
  });
}
