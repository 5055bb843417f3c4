import { createHash } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { defined } from '../../client/api-client.ts';
import type { ApiClient } from '../../client/api-client.ts';
import { ClientError, ConnectionError } from '../../client/client-error.ts';
import { listBranches, listTags } from '../../client/history.ts';
import {
  indexStats,
  listIndexes,
  describeNamespace,
  describeTable,
  listNamespaces,
  listTables,
} from '../../client/tables.ts';
import { countRows, openQuery } from '../../client/rows.ts';
import type { NamespacePath, TablePath } from '../../model/identifier.ts';
import { createFolder } from '../../model/storage/create-folder.ts';
import { formatBytes } from '../../plans/format-figure.ts';
import { readRelease } from '../../release.ts';
import { defineClientCommand } from '../client-command.ts';
import { EXIT, UsageError } from '../command.ts';
import { showPath, untilInterrupt } from '../session.ts';
import type { Result } from '../session.ts';
import { countOf } from '../show/text.ts';
import { writeWhole } from './local-files.ts';
import { describeFailed, findManifest, isUnchanged, listDifferences, readDetails, saveManifest } from './manifest.ts';
import type { FailedTable, IndexEntry, Manifest, NamespaceEntry, TableEntry } from './manifest.ts';
import { Progress } from './progress.ts';

export const backupCommand = defineClientCommand({
  words: ['backup'],
  names: 'DATABASE FOLDER',
  summary: 'back up all tables of a database to a folder',
  about:
    'Writes the latest version of each table with its schema, metadata and properties, the namespaces, and the definitions of indexes, while the server runs. Earlier versions, branches, the contents of indexes, keys and grants are not included. Each table is consistent; different tables are read at slightly different times. A table that cannot be read is named and left out, and the exit code is 1. At the end, it lists what a restore cannot bring back exactly.',
  options: [{ name: 'resume', help: 'continue a backup that did not finish, or that lacks tables' }],
  examples: ['backup default backups/monday'],
  async run({ client: anyClient, given, terminal }) {
    const [database = '', folder = ''] = given.names;
    const client = anyClient.withDatabase(database);
    const earlier = await openFolder(folder, given.has('resume'));
    const tables: TableEntry[] = [];
    const failed: FailedTable[] = [];
    const manifest = {
      format: 1,
      made_by: `tiltyard ${readRelease()}`,
      made_at: new Date().toISOString(),
      database,
      complete: false,
      namespaces: await readNamespaces(client, []),
      tables,
      failed,
    } as const;
    const progress = new Progress(terminal, `backup of ${database}`);
    const complete = await untilInterrupt(terminal, async (signal) => {
      for await (const path of listTables(client)) {
        signal.throwIfAborted();
        const kept = earlier?.tables.find((entry) => showPath(entry.path) === showPath(path));
        const file = join('tables', `${String(tables.length + failed.length + 1).padStart(6, '0')}.arrows`);
        const isKept = kept !== undefined && kept.file === file && (await isUnchanged(folder, kept));
        const entry = isKept ? kept : await trySave(client, path, { folder, file, progress, signal });
        if (entry === undefined) terminal.err(`Skipped ${showPath(path)}: it is declared and has no data.\n`);
        else if ('error' in entry) {
          failed.push(entry);
          terminal.err(`${describeFailed(entry)}\n`);
        } else tables.push(entry);
        await saveManifest(folder, manifest);
      }
      const whole = { ...manifest, complete: true };
      await saveManifest(folder, whole);
      return whole;
    });
    progress.end();
    if (complete !== undefined) return report(complete, folder);
    terminal.err(`Interrupted. The backup in ${folder} is not complete: continue it with --resume.\n`);
    return EXIT.interrupted;
  },
});

async function openFolder(folder: string, resume: boolean): Promise<Manifest | undefined> {
  createFolder(join(folder, 'tables'));
  const earlier = await findManifest(folder);
  const lacksTables = earlier?.complete === true && (earlier.failed ?? []).length > 0;
  if (earlier?.complete === true && !lacksTables) {
    throw new UsageError(`${folder} has a complete backup. Choose another folder.`);
  }
  if (earlier !== undefined && !resume) {
    const state = lacksTables ? 'lacks tables that could not be read' : 'did not finish';
    throw new UsageError(`The backup in ${folder} ${state}. Continue it with --resume, or choose another folder.`);
  }
  const names = await readdir(folder);
  if (earlier === undefined && names.some((name) => name !== 'tables')) {
    throw new UsageError(`${folder} is not empty. Choose another folder.`);
  }
  return earlier;
}

/** Parents before children, the order in which a restore creates them. */
async function readNamespaces(client: ApiClient, parent: NamespacePath): Promise<readonly NamespaceEntry[]> {
  const found: NamespaceEntry[] = [];
  for await (const path of listNamespaces(client, parent)) {
    const { properties } = await describeNamespace(client, path);
    found.push({ path, properties }, ...(await readNamespaces(client, path)));
  }
  return found;
}

interface Target {
  readonly folder: string;
  readonly file: string;
  readonly progress: Progress;
  readonly signal: AbortSignal;
}

/** A table that cannot be read must not prevent the others from being saved. */
async function trySave(
  client: ApiClient,
  path: TablePath,
  target: Target,
): Promise<TableEntry | FailedTable | undefined> {
  try {
    return await saveTable(client, path, target);
  } catch (error) {
    target.signal.throwIfAborted();
    // A reply breaks off if the server fails to read the next rows, or has stopped.
    if (error instanceof ConnectionError) await client.text('/healthz');
    else if (!(error instanceof ClientError)) throw error;
    return { path, error: error instanceof ClientError ? error.detail : error.message };
  }
}

/** `undefined` for a table that is only declared. */
async function saveTable(client: ApiClient, path: TablePath, { folder, file, progress, signal }: Target) {
  const { version, properties, metadata } = await describeTable(client, path, { load_detailed_metadata: true });
  if (version === undefined) return undefined;
  const rows = await countRows(client, path, { version });
  const hash = createHash('sha256');
  const read = async function* (): AsyncGenerator<Uint8Array> {
    const reply = await openQuery(client, path, { version }, { signal });
    for await (const piece of progress.count(client.bytes(reply))) {
      hash.update(piece);
      yield piece;
    }
  };
  await writeWhole(join(folder, file), read());
  const tags = Object.entries(await listTags(client, path)).map(([name, tag]) => [name, tag.version] as const);
  return {
    path,
    version,
    rows,
    file,
    bytes: progress.bytes,
    sha256: hash.digest('hex'),
    properties: properties ?? {},
    schema_metadata: metadata ?? {},
    indexes: await readIndexes(client, path, version),
    tags: Object.fromEntries(tags),
    branches: Object.keys(await listBranches(client, path)),
  };
}

async function readIndexes(client: ApiClient, path: TablePath, version: number): Promise<readonly IndexEntry[]> {
  const entries: IndexEntry[] = [];
  for (const index of await listIndexes(client, path, { version })) {
    const { index_name: name, columns, index_type: type } = index;
    const { distance_type } = await indexStats(client, path, name, { version });
    entries.push({ name, columns, type, ...defined({ distance_type }), ...readDetails(index) });
  }
  return entries;
}

function report(manifest: Manifest, folder: string): Result {
  const { tables, database, failed = [] } = manifest;
  const rows = tables.reduce((sum, entry) => sum + entry.rows, 0);
  const bytes = tables.reduce((sum, entry) => sum + entry.bytes, 0);
  const differences = listDifferences(manifest);
  const reply = { database, folder, tables: tables.length, rows, bytes, differences, failed };
  const done = `Backed up ${countOf(tables.length, 'table')} of ${database} with ${countOf(rows, 'row')} (${formatBytes(bytes)}) to ${folder}.`;
  const differing = differences.length === 0 ? [] : ['Different after a restore:', ...differences];
  const code = failed.length === 0 ? EXIT.done : EXIT.failed;
  const notice = `${countOf(failed.length, 'table')} could not be read. Try again with --resume.`;
  return { reply, text: `${[done, ...differing].join('\n')}\n`, code, ...(code === EXIT.done ? {} : { notice }) };
}
