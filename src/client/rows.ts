import { parse } from 'lossless-json';
import type { ParseOptions } from 'lossless-json';
import type { TablePath } from '../model/identifier.ts';
import type { PlanStep } from '../model/query.ts';
import type {
  CompleteUploadReply,
  CountRowsBody,
  DeleteBody,
  DeleteReply,
  InsertReply,
  MergeInsertReply,
  QueryTableBody,
  UpdateTableBody,
  UpdateTableReply,
} from '../wire/data.ts';
import type { ChangedRow, DiffTableBody, DiffTableReply } from '../wire/history/diffs.ts';
import { ARROW_STREAM, NDJSON } from './api-client.ts';
import type { ApiClient, BytesToSend, Call } from './api-client.ts';
import { callTable, tableAddress, tableOperation } from './calls.ts';
import { ClientError } from './client-error.ts';

export const countRows = tableOperation<number, CountRowsBody>('count_rows');

/** `undefined` if there is no such table. */
export async function findRowCount(client: ApiClient, table: TablePath): Promise<number | undefined> {
  try {
    return await countRows(client, table);
  } catch (error) {
    if (error instanceof ClientError && error.status === 404) return undefined;
    throw error;
  }
}

/** The rows as bytes, to be read as they arrive: an Arrow stream, or the type in `accept`. */
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

/** For unknown column names: `row[column]` would also find inherited members, such as `constructor`. */
export function cellOf(row: JsonRow | undefined, column: string): JsonValue | undefined {
  return row !== undefined && Object.hasOwn(row, column) ? row[column] : undefined;
}

/** All rows at once as values, for results that people look at. */
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

/**
 * Only a line with 16 consecutive digits, apart from a decimal point, may contain a number that JavaScript would round.
 */
const LONG_NUMBER = /[:[,]\s*-?(?:\d{16}|\d[\d.]{16})/;

/** If a name occurs twice, the last value counts, as in `JSON.parse`. */
const AS_JSON_PARSE: ParseOptions = { parseNumber, onDuplicateKey: ({ newValue }) => newValue };

function parseRow(line: string): JsonRow {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The server writes one object per line.
  return parseExact(line) as JsonRow;
}

function parseExact(text: string): unknown {
  return LONG_NUMBER.test(text) ? parse(text, undefined, AS_JSON_PARSE) : JSON.parse(text);
}

/** If JavaScript would round a number, an integer becomes a `bigint`, and a decimal stays text. */
export function parseNumber(text: string): number | bigint | string {
  const value = Number(text);
  if (/^-?\d+$/.test(text)) return Number.isSafeInteger(value) ? value : BigInt(text);
  const isRounded = /^-?\d+\.\d+$/.test(text) && String(value) !== text.replace(/\.?0+$/, '');
  return isRounded ? text : value;
}

/** A row that differs between two versions. */
export type RowDifference = Omit<ChangedRow, 'key' | 'before' | 'after'> & {
  readonly key: JsonRow;
  readonly before?: JsonRow;
  readonly after?: JsonRow;
};

export type TableDiff = Omit<DiffTableReply, 'rows'> & { readonly rows: readonly RowDifference[] };

/** Which rows differ between two versions. */
export async function diffTable(client: ApiClient, table: TablePath, body: DiffTableBody): Promise<TableDiff> {
  const text = await client.text(tableAddress(table, 'diff'), { json: body, accept: 'application/json' });
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The reply of the operation.
  return parseExact(text) as TableDiff;
}

/** Runs the query, and returns the cost of each step. */
export const analyzePlan = tableOperation<{ readonly text: string; readonly plan: PlanStep }, QueryTableBody>(
  'analyze_plan',
  { accept: 'application/vnd.tiltyard.plan+json' },
);

export const updateRows = tableOperation<UpdateTableReply, UpdateTableBody>('update');
export const deleteRows = tableOperation<DeleteReply, DeleteBody>('delete');

/** Adds the rows of an Arrow stream, or replaces all rows with them. */
export async function insertRows(
  client: ApiClient,
  table: TablePath,
  bytes: BytesToSend,
  call: Pick<Call, 'query' | 'headers' | 'signal'> = {},
): Promise<InsertReply> {
  return client.json(tableAddress(table, 'insert'), { ...call, bytes });
}

/** An insert in several requests, whose rows become visible together. */
export interface Upload {
  readonly table: TablePath;
  readonly id: string;
}

export async function createUpload(client: ApiClient, table: TablePath): Promise<Upload> {
  const { upload_id: id } = await callTable<{ readonly upload_id: string }>(
    client,
    table,
    'multipart_write/create',
    {},
  );
  return { table, id };
}

export async function completeUpload(
  client: ApiClient,
  { table, id }: Upload,
  headers: Readonly<Record<string, string>>,
): Promise<CompleteUploadReply> {
  const query = { upload_id: id };
  return client.json(tableAddress(table, 'multipart_write/complete'), { json: {}, query, headers });
}

export async function abortUpload(client: ApiClient, { table, id }: Upload): Promise<void> {
  await client.json(tableAddress(table, 'multipart_write/abort'), { json: {}, query: { upload_id: id } });
}

/** Whether the server has forgotten the upload: it was idle for too long, or the server was restarted. */
export function isUploadGone(error: unknown): boolean {
  return error instanceof ClientError && error.status === 400 && error.message.includes('no such upload');
}

interface MergeOptions extends Pick<Call, 'query' | 'headers' | 'signal'> {
  /** The columns that rows are matched on. */
  readonly on: readonly string[];
}

/** Merges the rows of an Arrow stream by key; the query parameters choose what happens to which rows. */
export async function mergeRows(
  client: ApiClient,
  table: TablePath,
  bytes: BytesToSend,
  { on, ...call }: MergeOptions,
): Promise<MergeInsertReply> {
  const address = tableAddress(table, 'merge_insert');
  const keys = new URLSearchParams(on.map((column): [string, string] => ['on', column]));
  return client.json(`${address}${address.includes('?') ? '&' : '?'}${keys.toString()}`, { ...call, bytes });
}

interface UpsertOptions extends Pick<Call, 'headers' | 'signal'> {
  /** The columns on which rows are matched. */
  readonly on: readonly string[];
  readonly branch?: string | undefined;
  /** SQL condition: deletes matching table rows that have no counterpart in the sent rows. */
  readonly deleteWhere?: string | undefined;
}

/** Updates the rows that match those of an Arrow stream, and inserts the others. */
export async function upsertRows(
  client: ApiClient,
  table: TablePath,
  bytes: BytesToSend,
  { on, branch, deleteWhere, ...call }: UpsertOptions,
): Promise<MergeInsertReply> {
  const query = {
    branch,
    when_matched_update_all: true,
    when_not_matched_insert_all: true,
    when_not_matched_by_source_delete: deleteWhere === undefined ? undefined : true,
    when_not_matched_by_source_delete_filt: deleteWhere,
  };
  return mergeRows(client, table, bytes, { ...call, on, query });
}
