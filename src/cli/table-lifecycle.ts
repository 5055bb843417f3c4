import { countRows } from '../client/rows.ts';
import { dropTable, renameTable } from '../client/tables.ts';
import { answer, defineClientCommand, requireTable, showPath } from './client-command.ts';
import type { Command } from './command.ts';
import { YES_OPTION, hasConsent } from './consent.ts';
import { EXIT } from './exit-codes.ts';
import { countOf } from './show/amounts.ts';

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
