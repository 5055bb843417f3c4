import type { TablePath } from '../../model/identifier.ts';
import type { QueryTableBody, UpdateTableBody } from '../../wire/data.ts';
import { listIndexes } from '../../client/indexes.ts';
import { countRows, openQuery, queryRows, insertRows } from '../../client/rows.ts';
import { showPath } from '../client-command.ts';
import type { Session } from '../client-command.ts';
import { CommandFault } from '../command.ts';
import { toNumbers, listVectorColumns } from '../data/query-options.ts';
import { countOf } from '../show/text.ts';
import { requireAssignments } from '../data/change-rows.ts';
import { columnsToStream } from '../../formats/arrow/arrow-stream.ts';
import type { ApiClient } from '../../client/api-client.ts';
import { createTable } from '../../client/tables.ts';

/** What is measured: a table, and what can be asked of it. What it cannot be asked is `undefined`. */
export interface Subject {
  readonly table: TablePath;
  /** Writes go there, where the table is somebody's. */
  readonly branch?: string;
  /** For people: what kind of table this is. */
  readonly described: string;
  readonly searches: ((turn: number) => QueryTableBody) | undefined;
  readonly filters: ((turn: number) => QueryTableBody) | undefined;
  readonly change: ((turn: number) => UpdateTableBody) | undefined;
  readonly rowsToInsert: (() => Uint8Array) | undefined;
  readonly rowsToCreate: () => Uint8Array;
  /** Names of tables that are made to be measured; no other table has them. */
  readonly tableToCreate: (turn: number) => TablePath;
}

const VECTORS_TAKEN = 100;
const ROWS_INSERTED = 100;

export interface Named {
  readonly table: TablePath;
  /** The branch that writes go to; `undefined` when nothing may be written. */
  readonly branch: string | undefined;
  /** Of tables that are made to be measured. */
  readonly ownName: string;
  readonly limit: number;
}

/** A table that is there: searched with vectors of its own rows, filtered as --where says. */
export async function namedSubject(session: Session, { table, branch, ownName, limit }: Named): Promise<Subject> {
  const { given, sqlTexts } = session;
  const filter = given.value('where');
  if (filter !== undefined) for (const name of ['filter', 'predicate']) sqlTexts.set(name, filter);
  const small = sampleRows(0, ROWS_INSERTED);
  const copies = branch === undefined ? undefined : await readCopies(session, table);
  return {
    table,
    ...(branch === undefined ? {} : { branch }),
    described: await describe(session, table),
    searches: await findSearches(session, table, limit),
    filters: filter === undefined ? undefined : () => ({ filter, k: limit }),
    change: branch === undefined ? undefined : findChange(session, filter),
    rowsToInsert: copies && (() => copies),
    rowsToCreate: () => small,
    tableToCreate: (turn) => [`${ownName}-${turn}`],
  };
}

async function describe({ client }: Session, table: TablePath): Promise<string> {
  const [rows, indexes] = await Promise.all([countRows(client, table), listIndexes(client, table)]);
  const built = indexes.map(({ columns, index_type: type }) => `${type} on ${columns.join(', ')}`);
  return `${showPath(table)}: ${countOf(rows, 'row')}, ${built.length === 0 ? 'no index' : built.join(', ')}`;
}

async function findSearches({ client, given }: Session, table: TablePath, limit: number): Promise<Subject['searches']> {
  const column = given.value('vector-column') ?? (await listVectorColumns(client, table, {}))[0];
  if (column === undefined) return undefined;
  const rows = await queryRows(client, table, { columns: { column_aliases: { vector: column } }, k: VECTORS_TAKEN });
  const vectors = rows.flatMap((row) => {
    const vector = toNumbers(row['vector']);
    return vector === undefined ? [] : [vector];
  });
  if (vectors.length === 0) return undefined;
  return (turn): QueryTableBody => ({
    vector: { single_vector: vectors[turn % vectors.length] ?? [] },
    vector_column: column,
    k: limit,
  });
}

function findChange(session: Session, predicate: string | undefined): Subject['change'] {
  if (!session.given.has('set')) return undefined;
  if (predicate === undefined) throw new CommandFault(['Say which rows are updated with --where SQL.']);
  const updates = requireAssignments(session).map(([path, sql]): [string, string] => [path, sql]);
  return () => ({ updates, predicate });
}

/** The first rows of the table, which fit it for sure. */
async function readCopies({ client }: Session, table: TablePath): Promise<Uint8Array> {
  const reply = await openQuery(client, table, { k: ROWS_INSERTED });
  return new Uint8Array(await reply.arrayBuffer());
}

export const SAMPLE_DIMENSIONS = 128;
const WORDS = ['amber', 'birch', 'cobalt', 'dune', 'ember', 'fern', 'garnet', 'heath'];

/** Rows of the sample table, the same ones in every run: a number, a text, a price and a vector. */
export function sampleRows(first: number, count: number): Uint8Array {
  const ids = Array.from({ length: count }, (_unused, index) => first + index);
  return columnsToStream([
    { name: 'id', type: 'int64', values: ids.map((id) => BigInt(id)) },
    { name: 'title', type: 'utf8', values: ids.map((id) => `${WORDS[id % 8]} ${WORDS[(id >> 3) % 8]} number ${id}`) },
    { name: 'price', type: 'float64', values: ids.map((id) => ((id * 37) % 1000) / 4) },
    { name: 'vector', type: `float32[${SAMPLE_DIMENSIONS}]`, values: ids.map(sampleVector) },
  ]);
}

/** Numbers from -1 to 1 that look random and depend on the row alone. */
export function sampleVector(row: number): number[] {
  let state = (row * 2_654_435_761 + 1) >>> 0;
  return Array.from({ length: SAMPLE_DIMENSIONS }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 31 - 1;
  });
}

const PART_ROWS = 10_000;
const WRITE_ROWS = 100;

export interface Sample {
  readonly name: string;
  readonly rows: number;
  readonly limit: number;
}

/** What can be asked of the sample table, once it is there. */
export function sampleSubject({ name, rows, limit }: Sample): Subject {
  const small = sampleRows(rows, WRITE_ROWS);
  return {
    table: [name],
    described: `a sample table: ${countOf(rows, 'row')}, vectors of ${SAMPLE_DIMENSIONS} numbers, no index`,
    searches: (turn) => ({ vector: { single_vector: sampleVector(-1 - turn) }, vector_column: 'vector', k: limit }),
    filters: (turn) => ({ filter: `id = ${rowOf(turn, rows)}`, k: limit }),
    change: (turn) => ({ updates: [['price', 'price + 1']], predicate: `id = ${rowOf(turn, rows)}` }),
    rowsToInsert: () => small,
    rowsToCreate: () => small,
    tableToCreate: (turn) => [`${name}-${turn}`],
  };
}

/** Makes the sample table, a part at a time, so that it needs little memory here. */
export async function makeSample(client: ApiClient, { name, rows }: Sample, stop: AbortSignal): Promise<void> {
  for (let first = 0; first < rows && !stop.aborted; first += PART_ROWS) {
    const part = sampleRows(first, Math.min(PART_ROWS, rows - first));
    if (first === 0) await createTable(client, [name], part);
    else await insertRows(client, [name], part);
  }
}

/** Jumps about, so that no request finds what the one before has just read. */
function rowOf(turn: number, rows: number): number {
  return (turn * 7919) % rows;
}
