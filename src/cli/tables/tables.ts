import type { ApiClient } from '../../client/api-client.ts';
import { collect } from '../../client/calls.ts';
import { ClientError } from '../../client/client-error.ts';
import { countRows } from '../../client/rows.ts';
import {
  dropTable,
  listTables,
  listTablesOf,
  renameTable,
  setManagedVersioning,
  startMaintenance,
} from '../../client/tables.ts';
import { formatPath } from '../../model/identifier.ts';
import type { TablePath } from '../../model/identifier.ts';
import { formatBytes, formatCount, formatTime } from '../../plans/format-figure.ts';
import { defineClientCommand, defineTableCommand } from '../client-command.ts';
import { EXIT, UsageError } from '../command.ts';
import { YES_OPTION, confirm, followJob, readNamespace, requireTable, showPath } from '../session.ts';
import type { Result, Session } from '../session.ts';
import { drawTable } from '../show/draw-table.ts';
import { countOf } from '../show/text.ts';

export const tablesCommand = defineClientCommand({
  words: ['tables'],
  names: '[NAMESPACE]',
  summary: 'list the tables of a database or a namespace',
  about: 'Lists the tables of all namespaces, or those directly in NAMESPACE, one per line.',
  options: [{ name: 'rows', help: 'show the number of rows' }],
  examples: ['tables', 'tables eu --rows', 'tables --json --database sales'],
  async run(session) {
    const { client, given } = session;
    const isAll = given.names.length === 0;
    const tables = await collect(isAll ? listTables(client) : listTablesOf(client, readNamespace(given)));
    if (given.has('rows')) return withRows(session, tables);
    const text = tables.map((table) => `${showPath(table)}\n`).join('');
    return { reply: { tables: tables.map((table) => formatPath(table)) }, text, none: 'There are no tables.' };
  },
});

async function withRows({ client, terminal, canvas }: Session, tables: readonly TablePath[]): Promise<Result> {
  const counted: Counted[] = [];
  for (const table of tables) {
    terminal.status?.(`counting ${showPath(table)}`);
    counted.push({ table, ...(await tryCount(client, table)) });
  }
  terminal.status?.('');
  const reply = { tables: counted.map(({ table, ...found }) => ({ table: formatPath(table), ...found })) };
  const lines = counted.map(({ table, num_rows: rows, error = '' }) => [
    showPath(table),
    rows === undefined ? error : formatCount(rows),
  ]);
  const code = counted.every(({ error }) => error === undefined) ? EXIT.done : EXIT.failed;
  return { reply, text: drawTable(['table', { number: 'rows' }], lines, canvas), code };
}

interface Counted {
  readonly table: TablePath;
  readonly num_rows?: number;
  /** Why the rows could not be counted. */
  readonly error?: string;
}

async function tryCount(client: ApiClient, table: TablePath): Promise<Omit<Counted, 'table'>> {
  try {
    return { num_rows: await countRows(client, table) };
  } catch (error) {
    if (error instanceof ClientError) return { error: error.detail };
    throw error;
  }
}

export const dropCommand = defineTableCommand({
  words: ['drop'],
  summary: 'drop a table and delete its data',
  options: [YES_OPTION],
  examples: ['drop old-orders', 'drop eu/old-orders --yes'],
  async run(session) {
    const { client, table } = session;
    const [name, rows] = [showPath(table), countOf(await countRows(client, table), 'row')];
    if (!(await confirm(session, `Drop ${name} with its ${rows} and all its versions?`))) return EXIT.failed;
    return { reply: await dropTable(client, table), text: `Dropped ${name} (${rows}).\n` };
  },
});

export const renameCommand = defineTableCommand({
  words: ['rename'],
  names: 'NEW_NAME',
  summary: 'rename a table, or move it to another namespace',
  about: 'Renames a table or moves it to another namespace. NEW_NAME is the full path.',
  examples: ['rename orders sales', 'rename orders eu/orders'],
  async run({ client, table, given }) {
    const target = requireTable(given, 1);
    const reply = await renameTable(client, table, target);
    return { reply, text: `Renamed ${showPath(table)} to ${showPath(target)}.\n` };
  },
});

export const managedCommand = defineTableCommand({
  words: ['managed'],
  names: 'on|off',
  summary: 'switch managed versioning of a table on or off',
  about:
    'Switches managed versioning of a table on or off. With it, programs that write the files of the table themselves commit their versions through the server.',
  examples: ['managed orders on', 'managed eu/orders off'],
  async run({ client, table, given }) {
    const [, word = ''] = given.names;
    if (word !== 'on' && word !== 'off') throw new UsageError('Give "on" or "off".');
    const reply = await setManagedVersioning(client, table, { enabled: word === 'on' });
    return { reply, text: `Managed versioning of ${showPath(table)} is ${word}.\n` };
  },
});

export const optimizeCommand = defineTableCommand({
  words: ['optimize'],
  summary: 'compact a table, refresh its indexes and remove old versions now',
  about:
    'Runs maintenance on a table now and waits for it. The server also runs it automatically when a table needs it.',
  examples: ['optimize orders'],
  async run(session) {
    const name = showPath(session.table);
    const { job_id: id } = await startMaintenance(session.client, session.table);
    const job = await followJob(session, id, `optimizing ${name}`);
    if (job === undefined) return EXIT.failed;
    return { reply: { job_id: id, result: job.result }, text: maintenanceText(name, job.result ?? {}) };
  },
});

function maintenanceText(name: string, result: object): string {
  const fields = new Map<string, unknown>(Object.entries(result));
  const figure = (field: string): number => Number(fields.get(field) ?? 0);
  if (fields.get('lost_to_writer') === true)
    return `${name} was not optimized: a concurrent write came first. Try again.\n`;
  const done: string[] = [];
  const [removed, added] = [figure('fragments_removed'), figure('fragments_added')];
  // Fragments without deleted rows replace the same number of fragments that have some.
  if (removed > 0)
    done.push(`${countOf(removed, 'fragment')} ${removed === added ? 'rewritten' : `merged into ${added}`}`);
  if (figure('versions_removed') > 0) {
    done.push(`${countOf(figure('versions_removed'), 'old version')} removed, ${formatBytes(figure('bytes_removed'))}`);
  }
  if (figure('files_swept') > 0) done.push(`${countOf(figure('files_swept'), 'unused file')} removed`);
  const time = formatTime(figure('milliseconds') * 1_000_000);
  return `Optimized ${name}, version ${figure('version')} (${[...done, time].join('; ')}).\n`;
}
