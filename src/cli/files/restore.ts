import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { ClientError } from '../../client/client-error.ts';
import type { ApiClient } from '../../client/api-client.ts';
import { callTable } from '../../client/calls.ts';
import { startIndex } from '../../client/indexes.ts';
import { waitForJob } from '../../client/jobs.ts';
import { createNamespace, createTable } from '../../client/tables.ts';
import { countRows } from '../../client/rows.ts';
import { nearNameHint } from '../../config/sources/names.ts';
import type { TablePath } from '../../model/identifier.ts';
import { formatCount } from '../../plans/format-figure.ts';
import { answer, defineClientCommand, showPath } from '../client-command.ts';
import type { Session } from '../client-command.ts';
import { CommandFault } from '../command.ts';
import { countOf } from '../show/text.ts';
import { isUnchanged, requireManifest } from './manifest.ts';
import type { IndexEntry, Manifest, TableEntry } from './manifest.ts';
import { Progress } from './progress.ts';

export const restoreCommand = defineClientCommand({
  words: ['restore'],
  names: 'FOLDER DATABASE',
  summary: 'make the tables of a backup again, in a database',
  about:
    'Makes the database when it is not there, the namespaces, the tables and their indexes. Every file is compared with its digest before it is sent, and the rows are counted after it. Tables that are there are left alone: the command stops before it changes anything, unless --replace or --resume is given.',
  options: [
    { name: 'only', value: 'TABLE', repeats: true, help: 'restore this table alone; may be repeated' },
    { name: 'replace', help: 'overwrite tables that are there' },
    { name: 'resume', help: 'leave out tables that are there with as many rows' },
  ],
  examples: [
    'restore backups/monday copy',
    'restore backups/monday default --only eu/orders',
    'restore backups/monday default --replace',
  ],
  run: runRestore,
});

async function runRestore(session: Session): Promise<number> {
  const { given, terminal } = session;
  const [folder = '', database = ''] = given.names;
  const manifest = chosenTables(await requireManifest(folder), given.values('only'));
  await requireDatabase(session.client, database);
  const client = session.client.withDatabase(database);
  const progress = new Progress(
    terminal,
    `restoring ${database}`,
    manifest.tables.reduce((sum, each) => sum + each.bytes, 0),
  );
  const wanted = await chooseTables(session, client, manifest);
  for (const { path, properties } of manifest.namespaces) {
    await createNamespace(client, path, { mode: 'exist_ok', properties });
  }
  let bytes = 0;
  const failed: string[] = [];
  for (const entry of wanted) {
    await restoreTable(client, entry, { folder, mode: given.has('replace') ? 'overwrite' : 'create' });
    failed.push(...(await restoreIndexes(client, entry)));
    bytes += entry.bytes;
    progress.show({ rows: undefined, bytes });
  }
  progress.end();
  for (const line of failed) terminal.err(`${line}\n`);
  const rows = wanted.reduce((sum, entry) => sum + entry.rows, 0);
  const reply = { database, tables: wanted.length, rows, indexes_missing: failed.length };
  answer(session, reply, `${countOf(wanted.length, 'table')} with ${countOf(rows, 'row')} are in ${database}.\n`);
  return failed.length === 0 ? 0 : 1;
}

/** Of --only, the tables that it names. */
function chosenTables(manifest: Manifest, names: readonly string[]): Manifest {
  if (names.length === 0) return manifest;
  const wanted = names.map((name) => name.replaceAll('$', '/'));
  const tables = manifest.tables.filter(({ path }) => wanted.includes(showPath(path)));
  const missing = wanted.find((name) => !tables.some(({ path }) => showPath(path) === name));
  if (missing === undefined) return { ...manifest, tables };
  const there = manifest.tables.map(({ path }) => showPath(path));
  throw new CommandFault([`The backup has no table ${missing}. ${nearest(missing, there)}`]);
}

const NAMES_SHOWN = 10;

function nearest(name: string, all: readonly string[]): string {
  const hint = nearNameHint(name, all).trim();
  const more = all.length > NAMES_SHOWN ? ', …' : '';
  return hint === '' ? `It has ${all.slice(0, NAMES_SHOWN).join(', ')}${more}.` : hint;
}

async function requireDatabase(client: ApiClient, name: string): Promise<void> {
  try {
    await client.json('/v1/database/create', { json: { name } });
  } catch (error) {
    // It is there already, or is not the caller's to make: then the tables decide.
    if (!(error instanceof ClientError) || (error.status !== 409 && error.status !== 403)) throw error;
  }
}

/** Looks before anything is changed. */
async function chooseTables(
  { given }: Session,
  client: ApiClient,
  { tables }: Manifest,
): Promise<readonly TableEntry[]> {
  if (given.has('replace')) return tables;
  const wanted: TableEntry[] = [];
  for (const entry of tables) {
    const rows = await findCount(client, toPath(entry));
    if (rows === undefined) wanted.push(entry);
    else if (!given.has('resume') || rows !== entry.rows) {
      throw new CommandFault([
        `The table ${showPath(entry.path)} is there already. Restore others with --only TABLE, or overwrite what is there with --replace.`,
      ]);
    }
  }
  return wanted;
}

async function findCount(client: ApiClient, path: TablePath): Promise<number | undefined> {
  try {
    return await countRows(client, path);
  } catch (error) {
    if (error instanceof ClientError && error.status === 404) return undefined;
    throw error;
  }
}

async function restoreTable(
  client: ApiClient,
  entry: TableEntry,
  { folder, mode }: { readonly folder: string; readonly mode: 'create' | 'overwrite' },
): Promise<void> {
  const name = showPath(entry.path);
  if (!(await isUnchanged(folder, entry))) {
    throw new CommandFault([
      `${join(folder, entry.file)} of ${name} is not the file that was written: it is missing, cut off or changed.`,
    ]);
  }
  const path = toPath(entry);
  const bytes: AsyncIterable<Uint8Array> = createReadStream(join(folder, entry.file));
  await createTable(client, path, bytes, { mode, properties: entry.properties });
  // Rows are read without the metadata of the schema.
  if (Object.keys(entry.schema_metadata).length > 0) {
    await callTable(client, path, 'schema_metadata/update', { metadata: entry.schema_metadata });
  }
  const rows = await countRows(client, path);
  if (rows === entry.rows) return;
  throw new CommandFault([
    `${name} has ${formatCount(rows)} rows after the restore, and had ${formatCount(entry.rows)}.`,
  ]);
}

async function restoreIndexes(client: ApiClient, entry: TableEntry): Promise<readonly string[]> {
  const failed: string[] = [];
  for (const index of entry.indexes) {
    const fault = await buildIndex(client, toPath(entry), index);
    if (fault !== undefined) failed.push(`The index ${index.name} of ${showPath(entry.path)} was not built: ${fault}`);
  }
  return failed;
}

async function buildIndex(client: ApiClient, path: TablePath, index: IndexEntry): Promise<string | undefined> {
  const { name, columns, type, distance_type: distance, parameters } = index;
  const [column = ''] = columns;
  const ofVectors = distance === undefined ? {} : { distance_type: distance };
  const body = { ...parameters, name, column, index_type: type, ...ofVectors };
  try {
    const { job_id: id } = await startIndex(client, path, body);
    const job = await waitForJob(client, id);
    return job.job_state === 'DONE' ? undefined : `its job ${id} ended with ${job.job_state}.`;
  } catch (error) {
    if (error instanceof ClientError) return error.detail;
    throw error;
  }
}

function toPath({ path: [first = '', ...rest] }: TableEntry): TablePath {
  return [first, ...rest];
}
