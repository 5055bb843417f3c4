import { defined } from '../../client/api-client.ts';
import { createBranch, deleteBranch, listBranches } from '../../client/history.ts';
import { defineTableCommand } from '../client-command.ts';
import type { Command } from '../command.ts';
import { printList, printResult, readState, showPath } from '../session.ts';
import { numberColumn, textColumn } from '../show/draw-table.ts';
import { formatMoment } from '../show/text.ts';

const HEADS = [textColumn('branch'), textColumn('from'), numberColumn('version'), textColumn('made')];

export const branchCommands: readonly Command[] = [
  defineTableCommand({
    words: ['branch', 'create'],
    names: 'BRANCH',
    summary: 'start a branch at a version of a table',
    options: [
      {
        name: 'at',
        value: 'VERSION',
        help: 'start at a version, given by its number or by a tag; the latest when absent',
      },
      { name: 'branch', value: 'NAME', help: 'start from this branch; the main one when absent' },
    ],
    examples: ['branch create orders trial', 'branch create orders trial --at before-import'],
    async run(session, table, name = '') {
      const { version, branch } = await readState(session.client, table, session.given);
      const body = { name, ...defined({ from_version: version, from_branch: branch }) };
      const reply = await createBranch(session.client, table, body);
      return printResult(session, reply, `The branch ${name} of ${showPath(table)} is there.\n`);
    },
  }),
  defineTableCommand({
    words: ['branch', 'list'],
    summary: 'list the branches of a table beside the main one',
    examples: ['branch list orders'],
    async run(session, table) {
      const branches = await listBranches(session.client, table);
      const rows = Object.entries(branches).map(([name, { parentBranch, parentVersion, createAt }]) => {
        return [name, parentBranch ?? 'main', String(parentVersion), formatMoment(createAt * 1000)];
      });
      const none = `${showPath(table)} has no branches.`;
      return printList(session, { reply: { branches }, heads: HEADS, rows, none });
    },
  }),
  defineTableCommand({
    words: ['branch', 'delete'],
    names: 'BRANCH',
    summary: 'delete a branch and its data',
    examples: ['branch delete orders trial'],
    async run(session, table, name = '') {
      const reply = await deleteBranch(session.client, table, { name });
      return printResult(session, reply, `The branch ${name} is deleted.\n`);
    },
  }),
];
