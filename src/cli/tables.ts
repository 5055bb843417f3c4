import { countRows } from '../client/rows.ts';
import { listTables, listTablesOf } from '../client/tables.ts';
import { formatPath } from '../model/identifier.ts';
import type { TablePath } from '../model/identifier.ts';
import { answer, defineClientCommand, readNamespace, showPath } from './client-command.ts';
import type { Session } from './client-command.ts';
import type { Command } from './command.ts';
import { formatCount } from '../plans/format-figure.ts';
import { drawTable } from './show/draw-table.ts';

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
