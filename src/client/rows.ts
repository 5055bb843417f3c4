import { parse } from 'lossless-json';
import type { ParseOptions } from 'lossless-json';
import type { TablePath } from '../model/identifier.ts';
import type { PlanStep } from '../model/query.ts';
import type {
  CountRowsBody,
  DeleteBody,
  DeleteReply,
  InsertReply,
  QueryTableBody,
  UpdateTableBody,
  UpdateTableReply,
} from '../wire/data.ts';
import { ARROW_STREAM, NDJSON } from './api-client.ts';
import type { ApiClient, BytesToSend, Call } from './api-client.ts';
import { tableAddress, tableOperation } from './calls.ts';
import { ClientError } from './client-error.ts';

export const countRows = tableOperation<number, CountRowsBody>('count_rows');

/** `undefined` when there is no such table. */
export async function findRowCount(client: ApiClient, table: TablePath): Promise<number | undefined> {
  try {
    return await countRows(client, table);
  } catch (error) {
    if (error instanceof ClientError && error.status === 404) return undefined;
    throw error;
  }
}

/** The rows as bytes, to be read as they arrive: an Arrow stream, or what `accept` asks for. */
export async function openQuery(
  client: ApiClient,
  table: TablePath,
  body: QueryTableBody,
  { accept = ARROW_STREAM, signal }: Pick<Call, 'accept' | 'signal'> = {},
): Promise<Response> {
  return client.open(tableAddress(table, 'query'), { json: body, accept, signal });
}

export type JsonValue =
  | null
  | boolean
  | number
  | bigint
  | string
  | readonly JsonValue[]
  | { readonly [name: string]: JsonValue };

export type JsonRow = Readonly<Record<string, JsonValue>>;

/** The rows as values, all at once, for results that a person looks at. */
export async function queryRows(
  client: ApiClient,
  table: TablePath,
  body: QueryTableBody,
): Promise<readonly JsonRow[]> {
  const text = await client.text(tableAddress(table, 'query'), { json: body, accept: NDJSON });
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map(parseRow);
}

/** Only a line with 16 digits in a row can hold an integer that a JavaScript number would round. */
const LARGE_INTEGER = /[:[,]\s*-?\d{16}/;

/** Of a name that occurs twice, the last value counts, as in `JSON.parse`. */
const AS_JSON_PARSE: ParseOptions = { parseNumber, onDuplicateKey: ({ newValue }) => newValue };

/** Integers that no JavaScript number holds exactly become a `bigint`. */
function parseRow(line: string): JsonRow {
  const row: unknown = LARGE_INTEGER.test(line) ? parse(line, undefined, AS_JSON_PARSE) : JSON.parse(line);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The server writes one object per line.
  return row as JsonRow;
}

function parseNumber(text: string): number | bigint {
  const value = Number(text);
  return /^-?\d+$/.test(text) && !Number.isSafeInteger(value) ? BigInt(text) : value;
}

/** Runs the query, and says what each step cost. */
export const analyzePlan = tableOperation<{ readonly text: string; readonly plan: PlanStep }, QueryTableBody>(
  'analyze_plan',
  { accept: 'application/vnd.tiltyard.plan+json' },
);

export const updateRows = tableOperation<UpdateTableReply, UpdateTableBody>('update');
export const deleteRows = tableOperation<DeleteReply, DeleteBody>('delete');

/** Adds the rows of an Arrow stream, or replaces all rows by them. */
export async function insertRows(
  client: ApiClient,
  table: TablePath,
  bytes: BytesToSend,
  call: Pick<Call, 'query' | 'headers' | 'signal'> = {},
): Promise<InsertReply> {
  return client.json(tableAddress(table, 'insert'), { ...call, bytes });
}
