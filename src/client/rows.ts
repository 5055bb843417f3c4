import type { TablePath } from '../model/identifier.ts';
import type { PlanStep } from '../model/query.ts';
import type {
  CountRowsBody,
  QueryTableBody,
  UpdateTableBody,
  UpdateTableReply,
  DeleteBody,
  DeleteReply,
  InsertReply,
  MergeInsertReply,
} from '../wire/data.ts';
import { tableAddress } from './calls.ts';
import { ARROW_STREAM, NDJSON } from './api-client.ts';
import type { ApiClient, BytesToSend } from './api-client.ts';
import { callTable } from './tables.ts';

export async function countRows(client: ApiClient, table: TablePath, body: CountRowsBody = {}): Promise<number> {
  return callTable(client, table, 'count_rows', body);
}

export interface QueryOptions {
  /** Arrow stream when absent. */
  readonly accept?: string;
  readonly signal?: AbortSignal;
}

/** The rows as bytes, to be read as they come: an Arrow stream, or what `accept` asks for. */
export async function openQuery(
  client: ApiClient,
  table: TablePath,
  body: QueryTableBody,
  { accept = ARROW_STREAM, signal }: QueryOptions = {},
): Promise<Response> {
  const { path, query } = tableAddress(table, 'query');
  return client.open(path, { query, json: body, accept, signal });
}

/** The rows as values, all at once: for results that are looked at. */
export async function queryRows(
  client: ApiClient,
  table: TablePath,
  body: QueryTableBody,
): Promise<readonly JsonRow[]> {
  const { path, query } = tableAddress(table, 'query');
  return parseRows(await client.text(path, { query, json: body, accept: NDJSON }));
}

export interface PlanAnalysis {
  readonly text: string;
  readonly plan: PlanStep;
}

const PLAN_MEDIA_TYPE = 'application/vnd.tiltyard.plan+json';

/** Runs the query, and tells what each step cost. */
export async function analyzePlan(client: ApiClient, table: TablePath, body: QueryTableBody): Promise<PlanAnalysis> {
  const { path, query } = tableAddress(table, 'analyze_plan');
  return client.json(path, { query, json: body, accept: PLAN_MEDIA_TYPE });
}

export async function updateRows(
  client: ApiClient,
  table: TablePath,
  body: UpdateTableBody,
): Promise<UpdateTableReply> {
  return callTable(client, table, 'update', body);
}

export async function deleteRows(client: ApiClient, table: TablePath, body: DeleteBody): Promise<DeleteReply> {
  return callTable(client, table, 'delete', body);
}

type WriteQuery = Readonly<Record<string, string | boolean | readonly string[] | undefined>>;

export interface WriteOptions {
  /** Parameters of the operation, such as `mode`, `branch`, `upload_id`. */
  readonly query?: WriteQuery;
  readonly signal?: AbortSignal;
}

/** Adds the rows of an Arrow stream, or replaces all by them. */
export async function insertRows(
  client: ApiClient,
  table: TablePath,
  bytes: BytesToSend,
  options: WriteOptions = {},
): Promise<InsertReply> {
  const { path, query } = tableAddress(table, 'insert');
  return client.json(path, { query: { ...query, ...options.query }, bytes, signal: options.signal });
}

/** Updates and inserts by the columns `on`. */
export async function mergeRows(
  client: ApiClient,
  table: TablePath,
  bytes: BytesToSend,
  options: WriteOptions,
): Promise<MergeInsertReply> {
  const { path, query } = tableAddress(table, 'merge_insert');
  return client.json(path, { query: { ...query, ...options.query }, bytes, signal: options.signal });
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

/** Rows of an NDJSON text. Whole numbers that no JavaScript number holds become a `bigint`, so that no digit is lost. */
export function parseRows(text: string): readonly JsonRow[] {
  const lines = text.split('\n').filter((line) => line !== '');
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The server writes one object per line.
  return lines.map((line) => parseExact(line) as JsonRow);
}

export function parseExact(text: string): JsonValue {
  let hasLarge = false;
  const marked = text.replace(TOKEN, (token) => {
    if (!isLarge(token)) return token;
    hasLarge = true;
    return `"${MARK}${token}"`;
  });
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- What JSON text parses to.
  return JSON.parse(hasLarge ? marked : text, hasLarge ? unmark : undefined) as JsonValue;
}

/** A string or a number, so that digits inside a string are passed over with it. */
const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** A private character, in a place where only whole numbers follow. */
const MARK = '\ue000int:';

function isLarge(token: string): boolean {
  return /^-?\d{16,}$/.test(token) && !Number.isSafeInteger(Number(token));
}

function unmark(_name: string, value: unknown): unknown {
  if (typeof value !== 'string' || !value.startsWith(MARK)) return value;
  const digits = value.slice(MARK.length);
  return /^-?\d+$/.test(digits) ? BigInt(digits) : value;
}
