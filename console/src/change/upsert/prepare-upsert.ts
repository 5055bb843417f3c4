import type { ApiClient } from '../../../../src/client/api-client.ts';
import { ClientError } from '../../../../src/client/client-error.ts';
import { queryRows, upsertRows } from '../../../../src/client/rows.ts';
import type { JsonRow, JsonValue } from '../../../../src/client/rows.ts';
import { describeTable } from '../../../../src/client/tables.ts';
import { readStream } from '../../../../src/formats/arrow/arrow-source.ts';
import { formatExactJson, parseExactJson } from '../../../../src/formats/json/exact-json.ts';
import { formatType } from '../../../../src/formats/types/type-text.ts';
import { valuesOf } from '../../../../src/formats/types/values-of.ts';
import type { TablePath } from '../../../../src/model/identifier.ts';
import { FormError } from '../../lab/form/query-body.ts';
import { convertFile, openFile, previewFile } from '../../load/opened-file.ts';
import type { OpenedFile } from '../../load/opened-file.ts';
import { readArrowRows } from '../../table/rows/edit/arrow-rows.ts';
import { describeKey, keyId, keyOf, pathsOf, whereKey } from '../../table/rows/edit/row-filter.ts';
import type { KeyValues, RowKey } from '../../table/rows/edit/row-filter.ts';
import { StalePreview } from '../preview-change.ts';
import type { Done } from '../preview-change.ts';

/** Bounds the memory of the browser; larger files are for the CLI. */
const ROWS_MAX = 100_000;
const BYTES_MAX = 64_000_000;
/** Keys per query. */
const KEYS_AT_ONCE = 5000;

export interface UpsertRequest {
  readonly table: TablePath;
  readonly on: { readonly branch?: string };
  readonly key: RowKey;
  readonly file: File;
  /** Columns of the table that callers write. */
  readonly writable: readonly string[];
}

export interface UpsertRow {
  /** Absent for a row that is inserted. */
  readonly before: JsonRow | undefined;
  readonly after: JsonRow;
}

export interface PreparedUpsert {
  readonly request: UpsertRequest;
  readonly version: number;
  readonly stream: Blob;
  readonly columns: readonly string[];
  readonly rows: number;
  readonly updated: number;
  readonly inserted: number;
  readonly sample: readonly UpsertRow[];
}

/** Pasted text as a file: CSV with a header, JSON objects line by line, or a JSON array of objects. */
export function toFile(text: string): File {
  const trimmed = text.trim();
  if (!trimmed.startsWith('[')) {
    return new File([text], trimmed.startsWith('{') ? 'pasted.ndjson' : 'pasted.csv');
  }
  const rows = parseArray(trimmed);
  return new File([rows.map((row) => formatExactJson(row)).join('\n')], 'pasted.ndjson');
}

function parseArray(text: string): readonly unknown[] {
  try {
    const value = parseExactJson(text);
    if (Array.isArray(value)) return value;
  } catch {
    // Reported below.
  }
  throw new FormError(
    'The text is not a JSON array.',
    'Paste [{"id": 1, "name": "a"}], one object per line, or CSV with a header.',
  );
}

/** Reads the rows with the table's types, and counts which of their keys the table has. Changes nothing. */
export async function prepareUpsert(client: ApiClient, request: UpsertRequest): Promise<PreparedUpsert> {
  const { table, on, key, file } = request;
  if (file.size > BYTES_MAX) throw tooLarge();
  const { version } = await describeTable(client, table, on);
  if (version === undefined) throw new FormError('The table has no data yet.', 'Load some first.');
  const opened = await openAs(client, request, version);
  const signal = new AbortController().signal;
  const { stream, rows } = await convertFile(opened, { onRead: () => undefined, signal });
  if (rows > ROWS_MAX) throw tooLarge();
  const keys = await readKeys(stream, key);
  const found = await findKeys(client, request, { keys, version });
  const [preview, before] = await Promise.all([
    previewFile(opened),
    queryRows(client, table, { ...on, version, filter: whereKey(key, keys.slice(0, SAMPLE_ROWS)) }),
  ]);
  return {
    request,
    version,
    stream,
    columns: opened.columns.map(({ name }) => name),
    rows,
    updated: found.rows,
    inserted: keys.length - found.keys,
    sample: preview.rows.slice(0, SAMPLE_ROWS).map((after) => ({
      before: before.find((row) => keyId(keyOf(row, key)) === keyId(keyOf(after, key))),
      after,
    })),
  };
}

const SAMPLE_ROWS = 20;

/** The columns of the file, with the table's types. */
async function openAs(client: ApiClient, request: UpsertRequest, version: number): Promise<OpenedFile> {
  const { table, on, key, file, writable } = request;
  const [opened, { schema }] = await Promise.all([
    openFile(file),
    readArrowRows(client, table, writable, { ...on, version, k: 1 }),
  ]);
  const types = new Map(schema.fields.map(({ name, type }) => [name, formatType(type)]));
  const unknown = opened.columns.find(({ source }) => !types.has(source));
  if (unknown !== undefined) {
    throw new FormError(
      `The table has no column ${unknown.source} to write to.`,
      `Its columns are ${[...types.keys()].join(', ')}.`,
    );
  }
  const missing = key.names.find((name) => !opened.columns.some(({ source }) => source === name));
  if (missing !== undefined) {
    throw new FormError(`The rows have no column ${missing}.`, 'Each row needs a value in every key column.');
  }
  return {
    ...opened,
    columns: opened.columns.map((column) => ({ ...column, type: types.get(column.source) ?? column.type })),
  };
}

/** The keys of all rows; none may be null or occur twice. */
async function readKeys(stream: Blob, key: RowKey): Promise<readonly KeyValues[]> {
  const { schema, batches } = await readStream(piecesOf(stream));
  const places = key.names.map((name) => schema.fields.findIndex((field) => field.name === name));
  const keys: KeyValues[] = [];
  for await (const batch of batches) {
    const columns = places.map((place) => batch.data.children[place]).map((data) => (data ? valuesOf(data) : []));
    for (let row = 0; row < batch.numRows; row += 1) {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Keys are numbers and texts.
      keys.push(columns.map((values) => (values[row] ?? null) as JsonValue));
    }
  }
  for (const [at, name] of key.names.entries()) {
    if (keys.every((values) => values[at] !== null)) continue;
    throw new FormError(`A row has no ${name}.`, 'Each row needs a value in every key column.');
  }
  const seen = new Set<string>();
  const twice = keys.find((values) => seen.size === seen.add(keyId(values)).size);
  if (twice !== undefined) {
    throw new FormError(`Two rows have ${describeKey(key, twice)}.`, 'Keep one row for each key.');
  }
  return keys;
}

async function* piecesOf(blob: Blob): AsyncGenerator<Uint8Array> {
  yield new Uint8Array(await blob.arrayBuffer());
}

interface KeysAtVersion {
  readonly keys: readonly KeyValues[];
  readonly version: number;
}

/** How many rows of the table have one of the keys, and how many of the keys were found. */
async function findKeys(client: ApiClient, request: UpsertRequest, { keys, version }: KeysAtVersion) {
  const { table, on, key } = request;
  let [rows, found] = [0, 0];
  for (let at = 0; at < keys.length; at += KEYS_AT_ONCE) {
    const matches = await queryRows(client, table, {
      ...on,
      version,
      filter: whereKey(key, keys.slice(at, at + KEYS_AT_ONCE)),
      columns: { column_names: [...pathsOf(key)] },
    });
    rows += matches.length;
    found += new Set(matches.map((row) => keyId(keyOf(row, key)))).size;
  }
  return { rows, keys: found };
}

function tooLarge(): FormError {
  return new FormError(
    'The console can upsert at most 100,000 rows or 64 MB at a time.',
    'Split the rows, or use the command line or a client.',
  );
}

/** Runs only on the previewed version. */
export async function runUpsert(client: ApiClient, { request, version, stream }: PreparedUpsert): Promise<Done> {
  const { table, on, key } = request;
  try {
    const options = { on: pathsOf(key), branch: on.branch, headers: { 'if-match': `"${version}"` } };
    const reply = await upsertRows(client, table, stream, options);
    return { rows: (reply.num_updated_rows ?? 0) + (reply.num_inserted_rows ?? 0), version: reply.version };
  } catch (error) {
    if (error instanceof ClientError && error.status === 412) throw new StalePreview(version, undefined);
    throw error;
  }
}
