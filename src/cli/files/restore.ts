import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { defined } from '../../client/api-client.ts';
import type { ApiClient } from '../../client/api-client.ts';
import { callTable, waitForJob } from '../../client/calls.ts';
import { ClientError } from '../../client/client-error.ts';
import { createNamespace, createTable, describeTable, listIndexes, startIndex } from '../../client/tables.ts';
import { countRows, findRowCount } from '../../client/rows.ts';
import { listViews } from '../../client/views.ts';
import { nearNameHint } from '../../config/sources/names.ts';
import { isView, withoutView } from '../../model/derived/view.ts';
import type { TablePath } from '../../model/identifier.ts';
import { formatCount } from '../../plans/format-figure.ts';
import { defineClientCommand } from '../client-command.ts';
import { EXIT, UsageError } from '../command.ts';
import type { Given } from '../options.ts';
import { showPath } from '../session.ts';
import { countOf } from '../show/text.ts';
import { describeFailed, isUnchanged, requireManifest } from './manifest.ts';
import type { IndexEntry, Manifest, TableEntry } from './manifest.ts';
import { Progress } from './progress.ts';

export const restoreCommand = defineClientCommand({
  words: ['restore'],
  names: 'FOLDER DATABASE',
  summary: 'restore the tables of a backup into a database',
  about:
    'Creates the database if it does not exist, and the namespaces, tables and indexes of the backup. Each file is checked against its digest before it is sent, and the rows are counted afterwards. If a table exists, the command stops before it changes anything, unless --replace or --resume is given.',
  options: [
    { name: 'only', value: 'TABLE', repeats: true, help: 'restore only this table; may be repeated' },
    { name: 'replace', help: 'overwrite existing tables' },
    { name: 'resume', help: 'keep tables that have all their rows, and add what they lack' },
  ],
  examples: [
    'restore backups/monday copy',
    'restore backups/monday default --only eu/orders',
    'restore backups/monday default --replace',
  ],
  async run({ client: anyClient, given, terminal }) {
    const [folder = '', database = ''] = given.names;
    const manifest = await requireManifest(folder);
    const { namespaces } = manifest;
    const chosen = chooseTables(manifest, given.values('only'));
    const missing = given.has('only') ? [] : (manifest.failed ?? []);
    await ensureDatabase(anyClient, database);
    const client = anyClient.withDatabase(database);
    const totalBytes = chosen.reduce((sum, entry) => sum + entry.bytes, 0);
    const progress = new Progress(terminal, `restoring ${database}`, totalBytes);
    const wanted = await withoutExisting(client, chosen, given);
    for (const { path, properties } of namespaces) {
      await createNamespace(client, path, { mode: 'exist_ok', properties });
    }
    let bytes = 0;
    const failed: string[] = [];
    for (const entry of wanted) {
      await restoreTable(client, entry, { folder, mode: given.has('replace') ? 'overwrite' : 'create' });
      failed.push(...(await restoreIndexes(client, entry)));
      bytes += entry.bytes;
      progress.show(bytes);
    }
    const existing = chosen.filter((entry) => !wanted.includes(entry));
    const incomplete = given.has('resume') ? await findIncomplete(client, existing) : [];
    for (const entry of incomplete) {
      await restoreMetadata(client, entry);
      failed.push(...(await restoreIndexes(client, entry)));
    }
    progress.end();
    for (const line of [...missing.map(describeFailed), ...failed]) terminal.err(`${line}\n`);
    const rows = wanted.reduce((sum, entry) => sum + entry.rows, 0);
    const completed = incomplete.length;
    const lacking = { indexes_missing: failed.length, tables_missing: missing.length };
    const reply = { database, tables: wanted.length, completed, rows, ...lacking };
    const lacked = completed === 0 ? '' : `; ${countOf(completed, 'table')} lacked indexes or metadata`;
    const already = existing.length === 0 ? '' : ` ${countOf(existing.length, 'table')} existed already${lacked}.`;
    const text = `Restored ${countOf(wanted.length, 'table')} with ${countOf(rows, 'row')} into ${database}.${already}\n`;
    return { reply, text, code: failed.length + missing.length === 0 ? EXIT.done : EXIT.failed };
  },
});

const NAMES_SHOWN = 10;

/** The tables that --only names, or all. */
function chooseTables({ tables, failed = [] }: Manifest, only: readonly string[]): readonly TableEntry[] {
  if (only.length === 0) return tables;
  const wanted = only.map((name) => name.replaceAll('$', '/'));
  const all = tables.map(({ path }) => showPath(path));
  const missing = wanted.find((name) => !all.includes(name));
  if (missing === undefined) return tables.filter(({ path }) => wanted.includes(showPath(path)));
  const unread = failed.find(({ path }) => showPath(path) === missing);
  if (unread !== undefined) throw new UsageError(describeFailed(unread));
  const shown = `${all.slice(0, NAMES_SHOWN).join(', ')}${all.length > NAMES_SHOWN ? ', …' : ''}`;
  throw new UsageError(
    `The backup has no table ${missing}.${nearNameHint(missing, all) || ` Its tables are ${shown}.`}`,
  );
}

async function ensureDatabase(client: ApiClient, name: string): Promise<void> {
  try {
    await client.json('/v1/database/create', { json: { name } });
  } catch (error) {
    // It already exists, or the caller may not create databases: then the tables decide.
    if (!(error instanceof ClientError) || (error.status !== 409 && error.status !== 403)) throw error;
  }
}

/** Checks before anything is changed. */
async function withoutExisting(
  client: ApiClient,
  tables: readonly TableEntry[],
  given: Given,
): Promise<readonly TableEntry[]> {
  if (given.has('replace')) return withoutViews(client, tables);
  const wanted: TableEntry[] = [];
  for (const entry of tables) {
    const rows = await findRowCount(client, entry.path);
    if (rows === undefined) wanted.push(entry);
    else if (!given.has('resume') || rows !== entry.rows) {
      throw new UsageError(
        `The table ${showPath(entry.path)} exists. Restore other tables with --only TABLE, or overwrite it with --replace.`,
      );
    }
  }
  return wanted;
}

/** An existing view is refreshed from its source; nothing else may write to it. */
async function withoutViews(client: ApiClient, tables: readonly TableEntry[]): Promise<readonly TableEntry[]> {
  const existing = new Set<string>();
  for await (const { id } of listViews(client, [])) existing.add(showPath(id));
  return tables.filter((entry) => !isView(entry) || !existing.has(showPath(entry.path)));
}

/** What the tables lack whose restore was interrupted. */
async function findIncomplete(client: ApiClient, existing: readonly TableEntry[]): Promise<readonly TableEntry[]> {
  const found: TableEntry[] = [];
  for (const entry of await withoutViews(client, existing)) {
    const { metadata = {} } = await describeTable(client, entry.path, { load_detailed_metadata: true });
    const names = new Set((await listIndexes(client, entry.path)).map((index) => index.index_name));
    const indexes = entry.indexes.filter(({ name }) => !names.has(name));
    const isDescribed = Object.keys(entry.schema_metadata).every((key) => metadata[key] !== undefined);
    const schema_metadata = isDescribed ? {} : { ...entry.schema_metadata, ...metadata };
    if (indexes.length > 0 || !isDescribed) found.push({ ...entry, schema_metadata, indexes });
  }
  return found;
}

async function restoreTable(
  client: ApiClient,
  entry: TableEntry,
  { folder, mode }: { readonly folder: string; readonly mode: 'create' | 'overwrite' },
): Promise<void> {
  const { path } = entry;
  const [name, file] = [showPath(path), join(folder, entry.file)];
  if (!(await isUnchanged(folder, entry))) {
    throw new UsageError(`${file} of ${name} is missing, incomplete or changed since the backup.`);
  }
  const bytes = ReadableStream.from<Uint8Array>(createReadStream(file));
  await createTable(client, path, bytes, { mode, properties: withoutView(entry.properties) });
  await restoreMetadata(client, entry);
  const rows = await countRows(client, path);
  if (rows === entry.rows) return;
  throw new UsageError(
    `${name} has ${formatCount(rows)} rows after the restore instead of ${formatCount(entry.rows)}.`,
  );
}

/** The metadata of the schema is not part of the rows. */
async function restoreMetadata(client: ApiClient, { path, schema_metadata: metadata }: TableEntry): Promise<void> {
  if (Object.keys(metadata).length === 0) return;
  await callTable(client, path, 'schema_metadata/update', { metadata });
}

async function restoreIndexes(client: ApiClient, { path, indexes }: TableEntry): Promise<readonly string[]> {
  const failed: string[] = [];
  for (const index of indexes) {
    const reason = await buildIndex(client, path, index);
    if (reason !== undefined) failed.push(`The index ${index.name} of ${showPath(path)} was not built: ${reason}`);
  }
  return failed;
}

/** Returns why it failed. */
async function buildIndex(client: ApiClient, path: TablePath, index: IndexEntry): Promise<string | undefined> {
  const { name, columns, type, distance_type, parameters } = index;
  const body = { ...parameters, name, column: columns[0] ?? '', index_type: type, ...defined({ distance_type }) };
  try {
    const { job_id: id } = await startIndex(client, path, body);
    const job = await waitForJob(client, id);
    return job.job_state === 'DONE' ? undefined : `job ${id} ended as ${job.job_state}.`;
  } catch (error) {
    if (error instanceof ClientError) return error.detail;
    throw error;
  }
}
