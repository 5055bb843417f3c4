import { readFileSync } from 'node:fs';
import { NDJSON, defined } from '../../client/api-client.ts';
import type { ApiClient } from '../../client/api-client.ts';
import type { State } from '../../client/history.ts';
import { openQuery, queryRows } from '../../client/rows.ts';
import { describeTable } from '../../client/tables.ts';
import { parseFieldPath, sqlFieldReference } from '../../model/field-path.ts';
import { quoteForMessage } from '../../model/identifier.ts';
import type { TablePath } from '../../model/identifier.ts';
import { parseJson } from '../../model/strict-json.ts';
import { findDimension, listColumns } from '../../plans/table-facts.ts';
import type { QueryTableBody } from '../../wire/data.ts';
import { defineTableCommand } from '../client-command.ts';
import { EXIT, UsageError } from '../command.ts';
import { readNumber, readRecall } from '../options.ts';
import type { Given, Option } from '../options.ts';
import { STATE_OPTIONS, readState } from '../session.ts';
import type { Session, TableSession } from '../session.ts';
import { drawRows } from '../show/draw-table.ts';
import { countOf, paintForErrors } from '../show/text.ts';

export const CHOICE_OPTIONS: readonly Option[] = [
  { name: 'where', value: 'SQL', help: 'only rows that match this condition' },
  {
    name: 'select',
    value: 'COLUMNS',
    repeats: true,
    help: 'columns, separated by commas, or NAME=SQL; may be repeated',
  },
];

export const ORDER_OPTION: Option = {
  name: 'order-by',
  value: 'COLUMN',
  repeats: true,
  help: 'sort by a column; COLUMN:desc sorts in descending order',
};

export const QUERY_OPTIONS: readonly Option[] = [
  ...CHOICE_OPTIONS,
  { name: 'limit', short: 'k', value: 'N', help: 'number of rows, or "all" (default 10)' },
  { name: 'offset', value: 'N', help: 'number of rows to skip' },
  ORDER_OPTION,
  { name: 'vector', value: 'JSON', help: 'search for rows near this vector, [0.1, 0.2, …] or @FILE' },
  { name: 'like', value: 'SQL', help: "search for rows near the row that this condition selects, such as 'id = 42'" },
  {
    name: 'meaning',
    value: 'TEXT',
    help: 'search by the meaning of this text; the server needs an embedding provider',
  },
  { name: 'vector-column', value: 'COLUMN', help: 'vector column to search; needed if there are several' },
  { name: 'text', value: 'WORDS', help: 'search for these words (full-text search)' },
  ...STATE_OPTIONS,
  { name: 'with-row-id', help: 'show the row ids' },
  { name: 'distance', value: 'TYPE', help: 'distance: l2, cosine, dot or hamming' },
  { name: 'nprobes', value: 'N', help: 'number of partitions of the vector index to search' },
  { name: 'refine-factor', value: 'N', help: 'rerank N times as many rows with exact distances' },
  { name: 'ef', value: 'N', help: 'number of candidates in an HNSW index' },
  { name: 'recall', value: 'N', help: 'share of the true neighbours to find, such as 0.99; 1 is an exact search' },
  { name: 'no-index', help: 'compare all rows instead of using the vector index' },
  { name: 'fast', help: 'search only rows that the index covers' },
  { name: 'postfilter', help: 'apply --where after the vector search' },
];

export const queryCommand = defineTableCommand({
  words: ['query'],
  summary: 'find rows by filter, vector and full text',
  about: `Prints rows of a table. --json prints one JSON document; --ndjson prints one JSON object per line while rows arrive.
TABLE is a name, or a path such as eu/orders. --vector, --like or --meaning together with --text make a hybrid search.
To read pages with --limit and --offset, end --order-by with a unique column.`,
  options: [...QUERY_OPTIONS, { name: 'ndjson', help: 'print one JSON object per line' }],
  examples: [
    `query orders --where "price > 100 and city = 'Oslo'" --select id,price -k 5`,
    'query orders --select id --select "total=price * amount" --order-by price:desc',
    'query pictures --vector @cat.json --where "year >= 2020"',
    "query pictures --like 'id = 42' -k 5",
    'query notes --text "tilt yard" --at before-import',
    'query notes --meaning "where knights practised" -k 5',
    'query orders --limit all --ndjson > orders.ndjson',
  ],
  async run(session) {
    const { client, table, given, terminal, canvas } = session;
    const query = await readQuery(session);
    const isLines = given.has('ndjson');
    if (isLines || session.isJson) {
      // Passed on without parsing, so no digit is lost and no row is kept in memory.
      const reply = await openQuery(client, table, query, { accept: isLines ? NDJSON : 'application/json' });
      for await (const piece of client.bytes(reply)) await terminal.write(piece);
      if (!isLines) terminal.out('\n');
      return EXIT.done;
    }
    const rows = await queryRows(client, table, query);
    terminal.out(drawRows(rows, canvas));
    if (terminal.columns !== undefined) terminal.out(`${canvas.paint.dim(countOf(rows.length, 'row'))}\n`);
    return EXIT.done;
  },
});

const LIMIT_DEFAULT = 10;

type Part = Partial<QueryTableBody>;

export async function readQuery(session: TableSession): Promise<QueryTableBody> {
  const { given } = session;
  const state = await readState(session);
  const limit = given.value('limit') === 'all' ? Number.MAX_SAFE_INTEGER : readNumber(given, 'limit', 0);
  const text = given.value('text');
  return {
    ...state,
    ...readChoice(session),
    k: limit ?? LIMIT_DEFAULT,
    ...defined({
      offset: readNumber(given, 'offset', 0),
      nprobes: readNumber(given, 'nprobes', 1),
      refine_factor: readNumber(given, 'refine-factor', 1),
      ef: readNumber(given, 'ef', 1),
      recall_target: readRecall(given),
      with_row_id: given.has('with-row-id') || undefined,
      bypass_vector_index: given.has('no-index') || undefined,
      fast_search: given.has('fast') || undefined,
      prefilter: given.has('postfilter') ? false : undefined,
      order_by: readOrder(given),
      distance_type: given.value('distance'),
      full_text_query: text === undefined ? undefined : { string_query: { query: text } },
    }),
    ...(await readVector(session, state)),
  };
}

/** The parts of the query that --where and --select set. */
export function readChoice({ given, sqlTexts }: Session): Part {
  const filter = given.value('where');
  if (filter !== undefined) sqlTexts.set('filter', filter);
  const parts = given.values('select').flatMap(toColumns);
  if (parts.length === 0) return defined({ filter });
  if (parts.every(({ sql }) => sql === undefined)) {
    return { ...defined({ filter }), columns: { column_names: parts.map(({ name }) => name) } };
  }
  const aliases = parts.map(({ name, sql }) => [name, sql ?? sqlFieldReference(parseFieldPath(name))] as const);
  for (const [name, sql] of aliases) sqlTexts.set(`columns.column_aliases[${quoteForMessage(name)}]`, sql);
  return { ...defined({ filter }), columns: { column_aliases: Object.fromEntries(aliases) } };
}

/** The SQL of `NAME=SQL` may contain commas; otherwise commas separate names. */
function toColumns(text: string): readonly { readonly name: string; readonly sql?: string }[] {
  const alias = /^\s*([^=,()'"<>!]+?)\s*=(.+)$/s.exec(text);
  if (alias !== null) return [{ name: alias[1] ?? '', sql: alias[2] ?? '' }];
  const names = text.split(',').map((name) => name.trim());
  if (names.includes('')) throw new UsageError('--select has an empty name.');
  return names.map((name) => ({ name }));
}

export function readOrder(given: Given): QueryTableBody['order_by'] {
  if (!given.has('order-by')) return undefined;
  return given.values('order-by').map((text) => {
    const [, column = text, direction = 'asc'] = /^(.+):(asc|desc)$/.exec(text) ?? [];
    return { column_name: column, ascending: direction === 'asc' };
  });
}

async function readVector(session: TableSession, state: State): Promise<Part> {
  const { given } = session;
  const [text, like, meaning] = [given.value('vector'), given.value('like'), given.value('meaning')];
  if ([text, like, meaning].filter((each) => each !== undefined).length > 1) {
    throw new UsageError('Give only one of --vector, --like and --meaning.');
  }
  if (like !== undefined) return readLike(session, like, state);
  const column = defined({ vector_column: given.value('vector-column') });
  if (meaning !== undefined) return { vector_text: meaning, ...column };
  return text === undefined ? column : { vector: { single_vector: parseVector(text) }, ...column };
}

function parseVector(text: string): number[] {
  const numbers = toNumbers(parseJson(text.startsWith('@') ? readFileSync(text.slice(1), 'utf8') : text));
  if (numbers !== undefined) return numbers;
  throw new UsageError('--vector must be a JSON list of numbers, such as [0.1, 0.2], or @FILE with one.');
}

export function toNumbers(value: unknown): number[] | undefined {
  const isVector = Array.isArray(value) && value.every((item: unknown): item is number => typeof item === 'number');
  return isVector ? value : undefined;
}

/** The vector of the single row that matches a condition. */
async function readLike(session: TableSession, text: string, state: State): Promise<Part> {
  const { client, table, given, sqlTexts } = session;
  const column = given.value('vector-column') ?? (await findVectorColumn(session, state));
  const condition = toCondition(session, text);
  const where = sqlTexts.get('filter');
  sqlTexts.set('filter', condition);
  const columns = { column_aliases: { vector: sqlFieldReference(parseFieldPath(column)) } };
  const rows = await queryRows(client, table, { ...state, filter: condition, columns, k: 2 });
  if (where === undefined) sqlTexts.delete('filter');
  else sqlTexts.set('filter', where);
  const [row, another] = rows;
  if (row === undefined) throw new UsageError(`No row matches --like "${text}".`);
  if (another !== undefined) throw new UsageError(`Several rows match --like "${text}". Give a condition for one row.`);
  const vector = toNumbers(row['vector']);
  if (vector === undefined) throw new UsageError(`The row that matches --like "${text}" has no vector in ${column}.`);
  return { vector: { single_vector: vector }, vector_column: column };
}

/** A plain number is a row id, as in earlier releases. */
function toCondition({ terminal, isJson }: TableSession, text: string): string {
  if (!/^\d{1,20}$/.test(text)) return text;
  const hint = `--like ${text} means the row with the row id ${text}, which changes when the table is compacted. Give a condition, such as --like 'id = ${text}'.`;
  if (!isJson) terminal.err(`${paintForErrors(terminal).cyan('hint:')} ${hint}\n`);
  return `_rowid = ${text}`;
}

async function findVectorColumn({ client, table }: TableSession, state: State): Promise<string> {
  const vectors = await listVectorColumns(client, table, state);
  const [only, ...others] = vectors;
  if (only === undefined) throw new UsageError('--like needs a column of vectors, and the table has none.');
  if (others.length > 0)
    throw new UsageError(
      `The table has several columns of vectors. Choose one with --vector-column: ${vectors.join(', ')}.`,
    );
  return only;
}

/** The paths of the columns that a vector search can use. */
export async function listVectorColumns(client: ApiClient, table: TablePath, state: State): Promise<readonly string[]> {
  const { schema } = await describeTable(client, table, state);
  return listColumns(schema)
    .filter(({ type }) => findDimension(type) !== undefined)
    .map(({ path }) => path);
}
