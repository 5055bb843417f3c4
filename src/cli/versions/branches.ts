import { createBranch, deleteBranch, listBranches } from '../../client/history.ts';
import { answerList, readState } from '../session.ts';
import { answer, defineClientCommand, requireTable, showPath } from '../client-command.ts';
import type { Command } from '../command.ts';
import { formatMoment } from '../show/text.ts';

const HEADS = [
  { title: 'branch' },
  { title: 'from' },
  { title: 'version', align: 'right' },
  { title: 'made' },
] as const;

const listCommand = defineClientCommand({
  words: ['branch', 'list'],
  names: 'TABLE',
  summary: 'list the branches of a table beside the main one',
  examples: ['branch list orders'],
  async run(session) {
    const table = requireTable(session.given);
    const branches = await listBranches(session.client, table);
    const rows = Object.entries(branches).map(([name, { parentBranch, parentVersion, createAt }]) => {
      return [name, parentBranch ?? 'main', String(parentVersion), formatMoment(createAt * 1000)];
    });
    return answerList(session, {
      reply: { branches },
      heads: HEADS,
      rows,
      none: `${showPath(table)} has no branches.`,
    });
  },
});

const createCommand = defineClientCommand({
  words: ['branch', 'create'],
  names: 'TABLE BRANCH',
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
  async run(session) {
    const { client, given } = session;
    const table = requireTable(given);
    const name = given.names[1] ?? '';
    const { version, branch } = await readState(client, table, given);
    const reply = await createBranch(client, table, {
      name,
      ...(version === undefined ? {} : { from_version: version }),
      ...(branch === undefined ? {} : { from_branch: branch }),
    });
    return answer(session, reply, `The branch ${name} of ${showPath(table)} is there.\n`);
  },
});

const deleteCommand = defineClientCommand({
  words: ['branch', 'delete'],
  names: 'TABLE BRANCH',
  summary: 'delete a branch and its data',
  examples: ['branch delete orders trial'],
  async run(session) {
    const { client, given } = session;
    const name = given.names[1] ?? '';
    const reply = await deleteBranch(client, requireTable(given), { name });
    return answer(session, reply, `The branch ${name} is deleted.\n`);
  },
});

export const branchCommands: readonly Command[] = [createCommand, listCommand, deleteCommand];
