import { createHash } from 'node:crypto';
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { ApiClient } from '../../client/api-client.ts';
import { ConnectionError } from '../../client/client-error.ts';
import { listBranches, listTags } from '../../client/history.ts';
import { indexStats, listIndexes } from '../../client/indexes.ts';
import { describeNamespace, listNamespaces, describeTable, listTables } from '../../client/tables.ts';
import { countRows, openQuery } from '../../client/rows.ts';
import type { NamespacePath, TablePath } from '../../model/identifier.ts';
import { formatBytes } from '../../plans/format-figure.ts';
import { readRelease } from '../../release.ts';
import { answer, defineClientCommand, showPath } from '../client-command.ts';
import type { Session } from '../client-command.ts';
import { CommandFault } from '../command.ts';
import { countOf } from '../show/text.ts';
import { missingParameters, readParameters } from './index-parameters.ts';
import { findManifest, isUnchanged, saveManifest, listDifferences } from './manifest.ts';
import type { IndexEntry, Manifest, NamespaceEntry, TableEntry } from './manifest.ts';
import { Progress } from './progress.ts';
import { writeWhole } from './local-files.ts';

export const backupCommand = defineClientCommand({
  words: ['backup'],
  names: 'DATABASE FOLDER',
  summary: 'copy all tables of a database to a folder',
  about:
    'Writes each table as it is at one version, with its schema, metadata and properties, the namespaces, and the definitions of indexes. Not in a backup: older versions, branches, the contents of indexes, keys and grants. Each table is read at a version of its own time. At the end it says what a restore would not bring back as it is.',
  options: [{ name: 'resume', help: 'go on with a backup that did not finish' }],
  examples: ['backup default backups/monday'],
  run: runBackup,
});

async function runBackup(session: Session): Promise<number> {
  const { given, terminal } = session;
  const [database = '', folder = ''] = given.names;
  const client = session.client.withDatabase(database);
  const earlier = await openFolder(folder, given.has('resume'));
  let manifest: Manifest = {
    format: 1,
    made_by: `tiltyard ${readRelease()}`,
    made_at: new Date().toISOString(),
    database,
    complete: false,
    namespaces: await readNamespaces(client, []),
    tables: [],
  };
  const progress = new Progress(terminal, `backup of ${database}`);
  for await (const path of listTables(client)) {
    const kept = earlier?.tables.find((entry) => showPath(entry.path) === showPath(path));
    const file = join('tables', `${String(manifest.tables.length + 1).padStart(6, '0')}.arrows`);
    const isKept = kept !== undefined && kept.file === file && (await isUnchanged(folder, kept));
    const entry = isKept ? kept : await saveTable({ client, path, folder, file, progress });
    if (entry === undefined) terminal.err(`${showPath(path)} is only declared, and not in the backup.\n`);
    else manifest = { ...manifest, tables: [...manifest.tables, entry] };
    await saveManifest(folder, manifest);
  }
  manifest = { ...manifest, complete: true };
  await saveManifest(folder, manifest);
  progress.end();
  return report(session, manifest, folder);
}

async function openFolder(folder: string, resume: boolean): Promise<Manifest | undefined> {
  await mkdir(join(folder, 'tables'), { recursive: true });
  const earlier = await findManifest(folder);
  if (earlier?.complete === true) throw new CommandFault([`${folder} holds a backup already. Name another folder.`]);
  if (earlier !== undefined && !resume) {
    throw new CommandFault([`The backup in ${folder} did not finish. Go on with --resume, or name another folder.`]);
  }
  const names = await readdir(folder);
  if (earlier === undefined && names.some((name) => name !== 'tables')) {
    throw new CommandFault([`${folder} is not empty. Name another folder.`]);
  }
  return earlier;
}

/** Parents before children, as they are to be made. */
async function readNamespaces(client: ApiClient, parent: NamespacePath): Promise<readonly NamespaceEntry[]> {
  const found: NamespaceEntry[] = [];
  for await (const path of listNamespaces(client, parent)) {
    const { properties } = await describeNamespace(client, path);
    found.push({ path, properties }, ...(await readNamespaces(client, path)));
  }
  return found;
}

interface TableToSave {
  readonly client: ApiClient;
  readonly path: TablePath;
  readonly folder: string;
  readonly file: string;
  readonly progress: Progress;
}

async function saveTable({ client, path, folder, file, progress }: TableToSave): Promise<TableEntry | undefined> {
  const { version, properties, metadata } = await describeTable(client, path, { load_detailed_metadata: true });
  if (version === undefined) return undefined;
  const rows = await countRows(client, path, { version });
  const hash = createHash('sha256');
  let bytes = 0;
  const read = async function* (): AsyncGenerator<Uint8Array> {
    const { body } = await openQuery(client, path, { version });
    try {
      for await (const piece of body ?? []) {
        hash.update(piece);
        bytes += piece.length;
        progress.show({ rows: undefined, bytes });
        yield piece;
      }
    } catch (error) {
      throw new ConnectionError(client.url, error);
    }
  };
  await writeWhole(join(folder, file), read());
  const tags = Object.entries(await listTags(client, path)).map(([name, tag]) => [name, tag.version] as const);
  return {
    path,
    version,
    rows,
    file,
    bytes,
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
    const { distance_type: distance } = await indexStats(client, path, name, { version });
    const missing = missingParameters(index);
    entries.push({
      name,
      columns,
      type,
      ...(distance === undefined ? {} : { distance_type: distance }),
      parameters: readParameters(index),
      ...(missing.length === 0 ? {} : { missing }),
    });
  }
  return entries;
}

function report(session: Session, manifest: Manifest, folder: string): number {
  const { tables, database } = manifest;
  const [rows, bytes] = [sum(tables.map((each) => each.rows)), sum(tables.map((each) => each.bytes))];
  const differences = listDifferences(manifest);
  const reply = { database, folder, tables: tables.length, rows, bytes, differences };
  const made = `${countOf(tables.length, 'table')} with ${countOf(rows, 'row')} (${formatBytes(bytes)}) of ${database} are in ${folder}.`;
  const differing = differences.length === 0 ? [] : ['After a restore, these differ:', ...differences];
  return answer(session, reply, `${[made, ...differing].join('\n')}\n`);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
