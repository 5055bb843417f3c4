import { countRows } from '../../client/rows.ts';
import { listTables, listTablesOf, dropTable, renameTable, startMaintenance } from '../../client/tables.ts';
import { formatPath } from '../../model/identifier.ts';
import type { TablePath } from '../../model/identifier.ts';
import { answer, defineClientCommand, readNamespace, showPath, requireTable } from '../client-command.ts';
import type { Session } from '../client-command.ts';
import type { Command } from '../command.ts';
import { formatCount, formatBytes, formatTime } from '../../plans/format-figure.ts';
import { drawTable } from '../show/draw-table.ts';
import { YES_OPTION, hasConsent, followJob } from '../session.ts';
import { EXIT } from '../command.ts';
import { countOf } from '../show/text.ts';

export const tablesCommand: Command = defineClientCommand({
  words: ['tables'],
  names: '[NAMESPACE]',
  summary: 'list the tables of a database or a namespace',
  about: 'Lists the tables of all namespaces, one per line; of NAMESPACE, those that stand directly in it.',
  options: [{ name: 'rows', help: 'count the rows of each' }],
  examples: ['tables', 'tables eu --rows', 'tables --json --database sales'],
  async run(session) {
    const tables = await collect(session);
    return session.given.has('rows') ? showWithRows(session, tables) : showNames(session, tables);
  },
});

async function collect({ client, given }: Session): Promise<readonly TablePath[]> {
  const found: TablePath[] = [];
  const listed = given.names.length === 0 ? listTables(client) : listTablesOf(client, readNamespace(given));
  for await (const table of listed) found.push(table);
  return found;
}

function showNames(session: Session, tables: readonly TablePath[]): number {
  const shown = tables.map((table) => `${showPath(table)}\n`).join('');
  if (tables.length === 0 && !session.isJson) session.terminal.err('There are no tables here.\n');
  return answer(session, { tables: tables.map((table) => formatPath(table)) }, shown);
}

async function showWithRows(session: Session, tables: readonly TablePath[]): Promise<number> {
  const counted: { readonly table: TablePath; readonly rows: number }[] = [];
  for (const table of tables) {
    session.terminal.status?.(`counting ${showPath(table)}`);
    counted.push({ table, rows: await countRows(session.client, table) });
  }
  session.terminal.status?.('');
  const heads = [{ title: 'table' }, { title: 'rows', align: 'right' }] as const;
  const lines = counted.map(({ table, rows }) => [showPath(table), formatCount(rows)]);
  const reply = { tables: counted.map(({ table, rows }) => ({ table: formatPath(table), num_rows: rows })) };
  return answer(session, reply, drawTable(heads, lines, session.canvas));
}

const dropCommand = defineClientCommand({
  words: ['drop'],
  names: 'TABLE',
  summary: 'drop a table and remove its data',
  options: [YES_OPTION],
  examples: ['drop old-orders', 'drop eu/old-orders --yes'],
  async run(session) {
    const { client, given } = session;
    const table = requireTable(given);
    const rows = countOf(await countRows(client, table), 'row');
    if (!(await hasConsent(session, `Drop ${showPath(table)} with its ${rows} and all its versions?`)))
      return EXIT.failed;
    return answer(session, await dropTable(client, table), `${showPath(table)} is dropped, with its ${rows}.\n`);
  },
});

const renameCommand = defineClientCommand({
  words: ['rename'],
  names: 'TABLE NEW_NAME',
  summary: 'rename a table, or move it to another namespace',
  about: 'NEW_NAME is a whole path: "rename eu/orders eu/sales" renames, "rename orders eu/orders" moves.',
  examples: ['rename orders sales', 'rename orders eu/orders'],
  async run(session) {
    const { client, given } = session;
    const [from, to] = [requireTable(given), requireTable(given, 1)];
    return answer(session, await renameTable(client, from, to), `${showPath(from)} is ${showPath(to)} now.\n`);
  },
});

export const lifecycleCommands: readonly Command[] = [dropCommand, renameCommand];

export const optimizeCommand: Command = defineClientCommand({
  words: ['optimize'],
  names: 'TABLE',
  summary: 'put a table in order now: merge fragments, refresh indexes, remove old versions',
  about: 'The server does this by itself when a table needs it; this does it now, and waits for it.',
  examples: ['optimize orders'],
  async run(session) {
    const table = requireTable(session.given);
    const { job_id: id } = await startMaintenance(session.client, table);
    const job = await followJob(session, id, `optimizing ${showPath(table)}`);
    if (job === undefined) return EXIT.failed;
    return answer(session, { job_id: id, result: job.result }, draw(showPath(table), job.result ?? {}));
  },
});

function draw(name: string, result: object): string {
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
