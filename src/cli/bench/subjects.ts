import { ARROW_STREAM } from '../../client/api-client.ts';
import type { ApiClient, Call } from '../../client/api-client.ts';
import { tableAddress } from '../../client/calls.ts';
import { countRows, insertRows, openQuery, queryRows } from '../../client/rows.ts';
import { createTable, listIndexes } from '../../client/tables.ts';
import { parseFieldPath, sqlFieldReference } from '../../model/field-path.ts';
import type { TablePath } from '../../model/identifier.ts';
import type { QueryTableBody, UpdateTableBody } from '../../wire/data.ts';
import { UsageError } from '../command.ts';
import { requireAssignments } from '../data/change-rows.ts';
import { listVectorColumns, toNumbers } from '../data/query.ts';
import { showPath } from '../session.ts';
import type { Session } from '../session.ts';
import { countOf } from '../show/text.ts';

/** In the order in which they run: those that change the table come last. */
export const KINDS = ['search', 'filter', 'scan', 'analyze', 'update', 'insert', 'create'] as const;
export type Kind = (typeof KINDS)[number];

export interface Plan {
  readonly kinds: readonly Kind[] | undefined;
  readonly seconds: number;
  readonly clients: number;
  readonly rows: number;
  readonly limit: number;
  /** What is created, and dropped at the end. */
  readonly created: 'table' | 'branch' | undefined;
  /** A unique name for what is created. Its prefix shows where it came from, in case a bench is killed. */
  readonly name: string;
}

/** A request that is ready to be sent. */
export interface BenchRequest extends Call {
  readonly address: string;
  readonly bytes: Uint8Array;
  /** A table that is dropped again, outside the measured time. */
  readonly created?: TablePath;
}

/** By the number of the request, counted across all clients. */
export type Numbered<Value> = (request: number) => Value;

/** The measured table. */
export interface Subject {
  readonly table: TablePath;
  /** The kind of table, for people. */
  readonly described: string;
  /** Unsupported kinds are `undefined`. */
  readonly requests: Readonly<Record<Kind, Numbered<BenchRequest> | undefined>>;
}

interface Contents extends Pick<Subject, 'table' | 'described'> {
  readonly search: Numbered<QueryTableBody> | undefined;
  readonly filter: Numbered<QueryTableBody> | undefined;
  readonly update: Numbered<UpdateTableBody> | undefined;
  /** Arrow streams. */
  readonly rowsToInsert: Uint8Array | undefined;
  readonly rowsToCreate: Uint8Array;
}

const SCAN = { k: 10_000 };

function toSubject(contents: Contents, { name, created }: Plan): Subject {
  const { table, described, search, filter, update, rowsToInsert, rowsToCreate } = contents;
  const analyzed = search ?? filter ?? (() => SCAN);
  const onBranch = created === 'branch' ? { branch: name } : {};
  const requests: Subject['requests'] = {
    search: search && ((request) => jsonRequest(table, 'query', search(request))),
    filter: filter && ((request) => jsonRequest(table, 'query', filter(request))),
    scan: () => jsonRequest(table, 'query', SCAN),
    analyze: (request) => jsonRequest(table, 'analyze_plan', analyzed(request)),
    update: update && ((request) => jsonRequest(table, 'update', { ...update(request), ...onBranch })),
    insert: rowsToInsert && (() => ({ ...arrowRequest(table, 'insert', rowsToInsert), query: onBranch })),
    create(request) {
      const newTable: TablePath = [`${name}-${request}`];
      return { ...arrowRequest(newTable, 'create', rowsToCreate), created: newTable };
    },
  };
  return { table, described, requests };
}

function jsonRequest(table: TablePath, action: string, body: object): BenchRequest {
  const bytes = new TextEncoder().encode(JSON.stringify(body));
  const accept = action === 'query' ? ARROW_STREAM : 'application/json';
  return { address: tableAddress(table, action), bytes, contentType: 'application/json', accept };
}

function arrowRequest(table: TablePath, action: string, bytes: Uint8Array): BenchRequest {
  return { address: tableAddress(table, action), bytes, accept: 'application/json' };
}

const VECTORS_TAKEN = 100;
const WRITE_ROWS = 100;

/** An existing table: searched with vectors from its rows, filtered by --where. */
export async function namedSubject(session: Session, table: TablePath, plan: Plan): Promise<Subject> {
  const { client, given, sqlTexts } = session;
  const { limit, created } = plan;
  const filter = given.value('where');
  if (filter !== undefined) for (const field of ['filter', 'predicate']) sqlTexts.set(field, filter);
  // Copies of its first rows always fit the schema.
  const copies = created === 'branch' ? await openQuery(client, table, { k: WRITE_ROWS }) : undefined;
  const contents = {
    table,
    rowsToInsert: copies && new Uint8Array(await copies.arrayBuffer()),
    described: await describe(client, table),
    search: await findSearch(session, table, limit),
    filter: filter === undefined ? undefined : () => ({ filter, k: limit }),
    update: created === 'branch' ? findUpdate(session, filter) : undefined,
    rowsToCreate: await sampleRows(0, WRITE_ROWS),
  };
  return toSubject(contents, plan);
}

async function describe(client: ApiClient, table: TablePath): Promise<string> {
  const [rows, indexes] = await Promise.all([countRows(client, table), listIndexes(client, table)]);
  const built = indexes.map(({ columns, index_type: type }) => `${type} on ${columns.join(', ')}`);
  return `${showPath(table)}: ${countOf(rows, 'row')}, ${built.length === 0 ? 'no index' : built.join(', ')}`;
}

async function findSearch({ client, given }: Session, table: TablePath, k: number): Promise<Contents['search']> {
  const column = given.value('vector-column') ?? (await listVectorColumns(client, table, {}))[0];
  if (column === undefined) return undefined;
  const columns = { column_aliases: { vector: sqlFieldReference(parseFieldPath(column)) } };
  const rows = await queryRows(client, table, { columns, k: VECTORS_TAKEN });
  const vectors = rows.map((row) => toNumbers(row['vector'])).filter((vector) => vector !== undefined);
  if (vectors.length === 0) return undefined;
  return (request) => searchBody(vectors[request % vectors.length] ?? [], column, k);
}

function searchBody(vector: number[], column: string, k: number): QueryTableBody {
  return { vector: { single_vector: vector }, vector_column: column, k };
}

function findUpdate(session: Session, predicate: string | undefined): Contents['update'] {
  if (!session.given.has('set')) return undefined;
  if (predicate === undefined) throw new UsageError('Choose the rows to update with --where SQL.');
  const updates = requireAssignments(session);
  return () => ({ updates, predicate });
}

const PART_ROWS = 10_000;
const DIMENSIONS = 128;

/** Creates the sample table in parts, to need little memory here. */
export async function sampleSubject(client: ApiClient, plan: Plan, stop: AbortSignal): Promise<Subject> {
  const { name, rows, limit } = plan;
  const table: TablePath = [name];
  for (let first = 0; first < rows && !stop.aborted; first += PART_ROWS) {
    const part = await sampleRows(first, Math.min(PART_ROWS, rows - first));
    await (first === 0 ? createTable : insertRows)(client, table, part);
  }
  const written = await sampleRows(rows, WRITE_ROWS);
  // Jumps around, so that no request finds what the previous one has just read.
  const predicate = (request: number): string => `id = ${(request * 7919) % rows}`;
  const contents: Contents = {
    table,
    described: `sample table: ${countOf(rows, 'row')}, vectors of ${DIMENSIONS} dimensions, no index`,
    search: (request) => searchBody(sampleVector(-1 - request), 'vector', limit),
    filter: (request) => ({ filter: predicate(request), k: limit }),
    update: (request) => ({ updates: [['price', 'price + 1']], predicate: predicate(request) }),
    rowsToInsert: written,
    rowsToCreate: written,
  };
  return toSubject(contents, plan);
}

const WORDS = ['amber', 'birch', 'cobalt', 'dune', 'ember', 'fern', 'garnet', 'heath'];

/** Rows of the sample table, the same in every run: a number, a text, a price and a vector. */
async function sampleRows(first: number, count: number): Promise<Uint8Array> {
  const { columnsToStream } = await import('../../formats/arrow/arrow-stream.ts');
  const ids = Array.from({ length: count }, (_unused, index) => first + index);
  return columnsToStream([
    { name: 'id', type: 'int64', values: ids.map((id) => BigInt(id)) },
    { name: 'title', type: 'utf8', values: ids.map((id) => `${WORDS[id % 8]} ${WORDS[(id >> 3) % 8]} number ${id}`) },
    { name: 'price', type: 'float64', values: ids.map((id) => ((id * 37) % 1000) / 4) },
    { name: 'vector', type: `float32[${DIMENSIONS}]`, values: ids.map(sampleVector) },
  ]);
}

/** Pseudorandom numbers from -1 to 1 that depend only on the row. */
function sampleVector(row: number): number[] {
  let state = (row * 2_654_435_761 + 1) >>> 0;
  return Array.from({ length: DIMENSIONS }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 31 - 1;
  });
}
