import { countRows } from '../../client/rows.ts';
import { dropTable, listTables, listTablesOf, renameTable, startMaintenance } from '../../client/tables.ts';
import { formatPath } from '../../model/identifier.ts';
import type { TablePath } from '../../model/identifier.ts';
import { formatBytes, formatCount, formatTime } from '../../plans/format-figure.ts';
import { defineClientCommand, defineTableCommand } from '../client-command.ts';
import { EXIT } from '../command.ts';
import { YES_OPTION, confirm, followJob, printResult, readNamespace, requireTable, showPath } from '../session.ts';
import type { Session } from '../session.ts';
import { drawTable, numberColumn, textColumn } from '../show/draw-table.ts';
import { countOf } from '../show/text.ts';

export const tablesCommand = defineClientCommand({
  words: ['tables'],
  names: '[NAMESPACE]',
  summary: 'list the tables of a database or a namespace',
  about: 'Lists the tables of all namespaces, one per line; of NAMESPACE, those that stand directly in it.',
  options: [{ name: 'rows', help: 'count the rows of each' }],
  examples: ['tables', 'tables eu --rows', 'tables --json --database sales'],
  async run(session) {
    const { client, given, terminal, isJson } = session;
    const tables: TablePath[] = [];
    const listed = given.names.length === 0 ? listTables(client) : listTablesOf(client, readNamespace(given));
    for await (const table of listed) tables.push(table);
    if (given.has('rows')) return printWithRows(session, tables);
    if (tables.length === 0 && !isJson) terminal.err('There are no tables here.\n');
    const text = tables.map((table) => `${showPath(table)}\n`).join('');
    return printResult(session, { tables: tables.map((table) => formatPath(table)) }, text);
  },
});

async function printWithRows(session: Session, tables: readonly TablePath[]): Promise<number> {
  const counted: { readonly table: TablePath; readonly rows: number }[] = [];
  for (const table of tables) {
    session.terminal.status?.(`counting ${showPath(table)}`);
    counted.push({ table, rows: await countRows(session.client, table) });
  }
  session.terminal.status?.('');
  const reply = { tables: counted.map(({ table, rows }) => ({ table: formatPath(table), num_rows: rows })) };
  const lines = counted.map(({ table, rows }) => [showPath(table), formatCount(rows)]);
  return printResult(session, reply, drawTable([textColumn('table'), numberColumn('rows')], lines, session.canvas));
}

export const dropCommand = defineTableCommand({
  words: ['drop'],
  summary: 'drop a table and remove its data',
  options: [YES_OPTION],
  examples: ['drop old-orders', 'drop eu/old-orders --yes'],
  async run(session, table) {
    const [name, rows] = [showPath(table), countOf(await countRows(session.client, table), 'row')];
    if (!(await confirm(session, `Drop ${name} with its ${rows} and all its versions?`))) return EXIT.failed;
    return printResult(session, await dropTable(session.client, table), `${name} is dropped, with its ${rows}.\n`);
  },
});

export const renameCommand = defineTableCommand({
  words: ['rename'],
  names: 'NEW_NAME',
  summary: 'rename a table, or move it to another namespace',
  about: 'NEW_NAME is a whole path: "rename eu/orders eu/sales" renames, "rename orders eu/orders" moves.',
  examples: ['rename orders sales', 'rename orders eu/orders'],
  async run(session, table) {
    const target = requireTable(session.given, 1);
    const reply = await renameTable(session.client, table, target);
    return printResult(session, reply, `${showPath(table)} is ${showPath(target)} now.\n`);
  },
});

export const optimizeCommand = defineTableCommand({
  words: ['optimize'],
  summary: 'put a table in order now: merge fragments, refresh indexes, remove old versions',
  about: 'The server does this by itself when a table needs it; this does it now, and waits for it.',
  examples: ['optimize orders'],
  async run(session, table) {
    const { job_id: id } = await startMaintenance(session.client, table);
    const job = await followJob(session, id, `optimizing ${showPath(table)}`);
    if (job === undefined) return EXIT.failed;
    return printResult(session, { job_id: id, result: job.result }, maintenanceText(showPath(table), job.result ?? {}));
  },
});

function maintenanceText(name: string, result: object): string {
  const fields = new Map<string, unknown>(Object.entries(result));
  const figure = (field: string): number => Number(fields.get(field) ?? 0);
  if (fields.get('lost_to_writer') === true) return `A writer was faster, and ${name} was left as it is. Try again.\n`;
  const done: string[] = [];
  if (figure('fragments_removed') > 0) {
    done.push(`${countOf(figure('fragments_removed'), 'fragment')} merged into ${figure('fragments_added')}`);
  }
  if (figure('versions_removed') > 0) {
    done.push(`${countOf(figure('versions_removed'), 'old version')} removed, ${formatBytes(figure('bytes_removed'))}`);
  }
  if (figure('files_swept') > 0) done.push(`${countOf(figure('files_swept'), 'file')} swept`);
  const time = formatTime(figure('milliseconds') * 1_000_000);
  return `${name} is in order, at version ${figure('version')} (${[...done, time].join('; ')}).\n`;
}
