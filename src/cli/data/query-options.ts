import { readFileSync } from 'node:fs';
import { queryRows } from '../../client/rows.ts';
import type { TablePath } from '../../model/identifier.ts';
import { quoteForMessage } from '../../model/identifier.ts';
import type { QueryTableBody } from '../../wire/data.ts';
import type { Session } from '../client-command.ts';
import { CommandFault } from '../command.ts';
import { readNumber } from '../options.ts';
import type { Given, Option } from '../options.ts';
import { STATE_OPTIONS, readState } from '../session.ts';
import type { ApiClient } from '../../client/api-client.ts';
import type { State } from '../../client/history.ts';
import { describeTable } from '../../client/tables.ts';
import { findDimension, listColumns } from '../../plans/table-facts.ts';
import type { SchemaJson } from '../../wire/schema/schema-json.ts';

/** Which rows and columns. */
export const CHOICE_OPTIONS: readonly Option[] = [
  { name: 'where', value: 'SQL', help: 'only rows for which this is true' },
  { name: 'select', value: 'COLUMNS', repeats: true, help: 'names with commas between, or NAME=SQL; may be repeated' },
];

export const ORDER_OPTION: Option = {
  name: 'order-by',
  value: 'COLUMN',
  repeats: true,
  help: 'sort by a column; COLUMN:desc for the greatest first',
};

export const QUERY_OPTIONS: readonly Option[] = [
  ...CHOICE_OPTIONS,
  { name: 'limit', short: 'k', value: 'N', help: 'how many rows at most, or "all" (default 10)' },
  { name: 'offset', value: 'N', help: 'how many rows to skip' },
  ORDER_OPTION,
  { name: 'vector', value: 'JSON', help: 'nearest to this vector, as [0.1, 0.2, …] or @FILE' },
  { name: 'like', value: 'ROWID', help: 'nearest to the vector of this row; see --with-row-id' },
  { name: 'vector-column', value: 'COLUMN', help: 'which vector to search, where there are several' },
  { name: 'text', value: 'WORDS', help: 'full-text search' },
  ...STATE_OPTIONS,
  { name: 'with-row-id', help: 'show the row id too' },
  { name: 'distance', value: 'TYPE', help: 'l2, cosine, dot or hamming' },
  { name: 'nprobes', value: 'N', help: 'partitions of the vector index to search' },
  { name: 'refine-factor', value: 'N', help: 're-rank this many times the limit with exact vectors' },
  { name: 'ef', value: 'N', help: 'effort of an HNSW index' },
  { name: 'no-index', help: 'search every row, not the vector index' },
  { name: 'fast', help: 'search only rows that are in the index' },
  { name: 'postfilter', help: 'filter after the vector search' },
];

const LIMIT_DEFAULT = 10;

/** The query that the options ask for. `given` may be another than the session's, to compare two. */
export async function readQuery(session: Session, table: TablePath, given: Given): Promise<QueryTableBody> {
  const { client, sqlTexts } = session;
  const where = given.value('where');
  if (where !== undefined) sqlTexts.set('filter', where);
  const state = await readState(client, table, given);
  return {
    ...state,
    ...(where === undefined ? {} : { filter: where }),
    ...readColumns(given, sqlTexts),
    ...readCounts(given),
    ...readSwitches(given),
    ...readText(given),
    ...(await readVector(session, table, { given, state })),
  };
}

type Part = Partial<QueryTableBody>;

/** What --select asks for. */
export function readColumns(given: Given, sqlTexts: Map<string, string>): Part {
  const parts = given.values('select').flatMap(toColumns);
  if (parts.length === 0) return {};
  if (parts.every(({ sql }) => sql === undefined)) return { columns: { column_names: parts.map(({ name }) => name) } };
  const aliases = parts.map(({ name, sql }) => [name, sql ?? name] as const);
  for (const [name, sql] of aliases) sqlTexts.set(`columns.column_aliases[${quoteForMessage(name)}]`, sql);
  return { columns: { column_aliases: Object.fromEntries(aliases) } };
}

interface SelectedColumn {
  readonly name: string;
  readonly sql?: string;
}

/** Of `NAME=SQL` the SQL may hold commas; else commas stand between names. */
function toColumns(text: string): readonly SelectedColumn[] {
  const alias = /^\s*([^=,()'"<>!]+?)\s*=(.+)$/s.exec(text);
  if (alias !== null) return [{ name: alias[1] ?? '', sql: alias[2] ?? '' }];
  const names = text.split(',').map((name) => name.trim());
  if (names.includes('')) throw new CommandFault(['--select has an empty name.']);
  return names.map((name) => ({ name }));
}

function readCounts(given: Given): Part {
  const limit = given.value('limit') === 'all' ? Number.MAX_SAFE_INTEGER : readNumber(given, 'limit', { minimum: 0 });
  return {
    k: limit ?? LIMIT_DEFAULT,
    ...named('offset', readNumber(given, 'offset', { minimum: 0 })),
    ...named('nprobes', readNumber(given, 'nprobes', { minimum: 1 })),
    ...named('refine_factor', readNumber(given, 'refine-factor', { minimum: 1 })),
    ...named('ef', readNumber(given, 'ef', { minimum: 1 })),
  };
}

function named(name: keyof QueryTableBody, value: number | undefined): Part {
  return value === undefined ? {} : { [name]: value };
}

function readSwitches(given: Given): Part {
  const distance = given.value('distance');
  return {
    ...(given.has('with-row-id') ? { with_row_id: true } : {}),
    ...(given.has('no-index') ? { bypass_vector_index: true } : {}),
    ...(given.has('fast') ? { fast_search: true } : {}),
    ...(given.has('postfilter') ? { prefilter: false } : {}),
    ...readOrder(given),
    ...(distance === undefined ? {} : { distance_type: distance }),
  };
}

/** What --order-by asks for. */
export function readOrder(given: Given): Part {
  const order = given.values('order-by').map(toOrder);
  return order.length === 0 ? {} : { order_by: order };
}

function toOrder(text: string) {
  const [, column = text, direction = 'asc'] = /^(.+):(asc|desc)$/.exec(text) ?? [];
  return { column_name: column, ascending: direction === 'asc' };
}

function readText(given: Given): Part {
  const text = given.value('text');
  return text === undefined ? {} : { full_text_query: { string_query: { query: text } } };
}

interface VectorWanted {
  readonly given: Given;
  readonly state: { readonly version?: number; readonly branch?: string };
}

async function readVector(session: Session, table: TablePath, wanted: VectorWanted): Promise<Part> {
  const { given } = wanted;
  const column = given.value('vector-column');
  const ofColumn = column === undefined ? {} : { vector_column: column };
  const [text, like] = [given.value('vector'), given.value('like')];
  if (text !== undefined && like !== undefined) throw new CommandFault(['Give --vector or --like, not both.']);
  if (text !== undefined) return { vector: { single_vector: parseVector(text) }, ...ofColumn };
  if (like === undefined) return ofColumn;
  const name = column ?? (await findVectorColumn(session, table, wanted));
  return {
    vector: { single_vector: await vectorOfRow(session, table, { ...wanted, like, name }) },
    vector_column: name,
  };
}

function parseVector(text: string): number[] {
  const json = text.startsWith('@') ? readFileSync(text.slice(1), 'utf8') : text;
  const numbers = toNumbers(parseJson(json));
  if (numbers !== undefined) return numbers;
  throw new CommandFault(['--vector must be a JSON list of numbers, such as [0.1, 0.2], or @FILE that holds one.']);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function toNumbers(value: unknown): number[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const numbers = value.filter((item: unknown): item is number => typeof item === 'number');
  return numbers.length === value.length ? numbers : undefined;
}

async function findVectorColumn({ client }: Session, table: TablePath, { state }: VectorWanted): Promise<string> {
  const vectors = await listVectorColumns(client, table, state);
  const [only, ...others] = vectors;
  if (only === undefined) throw new CommandFault(['The table has no vectors, so that --like has nothing to compare.']);
  if (others.length > 0) throw new CommandFault([`Say which vector with --vector-column: ${vectors.join(', ')}.`]);
  return only;
}

interface RowWanted extends VectorWanted {
  readonly like: string;
  readonly name: string;
}

async function vectorOfRow({ client }: Session, table: TablePath, wanted: RowWanted): Promise<number[]> {
  const { like, name, state } = wanted;
  if (!/^\d{1,20}$/.test(like)) throw new CommandFault([`--like must be a row id, not "${like}".`]);
  const columns = { column_aliases: { vector: name } };
  const [row] = await queryRows(client, table, { ...state, filter: `_rowid = ${like}`, columns });
  const vector = toNumbers(row?.['vector']);
  if (vector !== undefined) return vector;
  throw new CommandFault([
    row === undefined ? `There is no row with the id ${like}.` : `The row ${like} has no vector in ${name}.`,
  ]);
}

/** The columns of a table that can be searched by a vector, by their paths. */
export async function listVectorColumns(client: ApiClient, table: TablePath, state: State): Promise<readonly string[]> {
  const { schema } = await describeTable(client, table, state);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The server describes a schema in this form.
  const columns = listColumns(schema as SchemaJson | undefined);
  return columns.filter(({ type }) => findDimension(type) !== undefined).map(({ path }) => path);
}
