import {
  listTags,
  listVersions,
  restoreTable,
  createBranch,
  deleteBranch,
  listBranches,
  createTag,
  deleteTag,
  updateTag,
} from '../../client/history.ts';
import { formatCount } from '../../plans/format-figure.ts';
import { defineTableCommand } from '../client-command.ts';
import { UsageError } from '../command.ts';
import type { Command } from '../command.ts';
import { readNumber } from '../options.ts';
import { BRANCH_OPTION, printResult, readBranch, showPath, printList, readState } from '../session.ts';
import { drawTable, numberColumn, textColumn } from '../show/draw-table.ts';
import { formatMoment } from '../show/text.ts';
import { defined } from '../../client/api-client.ts';
import { describeTable } from '../../client/tables.ts';

const LIMIT_DEFAULT = 20;

const COUNTS = ['rows', 'fragments'].map(numberColumn);
const VERSION_HEADS = [numberColumn('version'), textColumn('committed'), ...COUNTS, textColumn('tags')];

export const versionCommands: readonly Command[] = [
  defineTableCommand({
    words: ['versions'],
    summary: 'list the versions of a table, the latest first',
    options: [{ name: 'limit', short: 'k', value: 'N', help: 'how many at most (default 20)' }, BRANCH_OPTION],
    examples: ['versions orders', 'versions orders --branch trial -k 5'],
    async run(session, table) {
      const { client, given } = session;
      const on = readBranch(given);
      const limit = readNumber(given, 'limit', 1) ?? LIMIT_DEFAULT;
      const [versions, tags] = await Promise.all([
        listVersions(client, table, { ...on, limit }),
        listTags(client, table),
      ]);
      const rows = versions.map(({ version, timestamp_millis: time, metadata }) => [
        String(version),
        formatMoment(time),
        countText(metadata['total_rows']),
        countText(metadata['total_fragments']),
        Object.keys(tags)
          .filter((name) => tags[name]?.version === version && tags[name].branch === on.branch)
          .join(', '),
      ]);
      return printResult(session, { versions }, drawTable(VERSION_HEADS, rows, session.canvas));
    },
  }),
  defineTableCommand({
    words: ['versions', 'restore'],
    names: 'VERSION',
    summary: 'make the contents of an earlier version the latest',
    about: 'Makes a new version with the contents of an earlier one; nothing is lost, the versions between stay.',
    options: [BRANCH_OPTION],
    examples: ['versions restore orders 12'],
    async run(session, table, text) {
      const version = requireVersion(text);
      const reply = await restoreTable(session.client, table, { version, ...readBranch(session.given) });
      const done = `${showPath(table)} has the contents of version ${version} again, as version ${reply.version}.\n`;
      return printResult(session, reply, done);
    },
  }),
];

function countText(count: string | undefined): string {
  return count === undefined ? '' : formatCount(Number(count));
}

export function requireVersion(text = ''): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new UsageError(`VERSION must be the number of a version, not "${text}".`);
}

const BRANCH_HEADS = [textColumn('branch'), textColumn('from'), numberColumn('version'), textColumn('made')];

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
      return printList(session, { reply: { branches }, heads: BRANCH_HEADS, rows, none });
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

const TAG_HEADS = [textColumn('tag'), numberColumn('version'), textColumn('branch')];

export const tagCommands: readonly Command[] = [
  defineSetCommand({
    words: ['tag', 'create'],
    summary: 'give a version a name; the latest when none is given',
    examples: ['tag create orders before-import', 'tag create orders v1 12'],
    set: createTag,
  }),
  defineTableCommand({
    words: ['tag', 'list'],
    summary: 'list the tags of a table',
    examples: ['tag list orders'],
    async run(session, table) {
      const tags = await listTags(session.client, table);
      const rows = Object.entries(tags).map(([name, { version, branch }]) => [name, String(version), branch ?? 'main']);
      return printList(session, {
        reply: { tags },
        heads: TAG_HEADS,
        rows,
        none: `${showPath(table)} has no tags.`,
      });
    },
  }),
  defineSetCommand({
    words: ['tag', 'move'],
    summary: 'let a tag name another version; the latest when none is given',
    examples: ['tag move orders stable 14'],
    set: updateTag,
  }),
  defineTableCommand({
    words: ['tag', 'delete'],
    names: 'TAG',
    summary: 'delete a tag; its version stays',
    examples: ['tag delete orders before-import'],
    async run(session, table, tag = '') {
      return printResult(session, await deleteTag(session.client, table, { tag }), `The tag ${tag} is deleted.\n`);
    },
  }),
];

interface SetCommand extends Pick<Command, 'words' | 'summary'> {
  readonly examples: readonly string[];
  readonly set: typeof createTag;
}

function defineSetCommand({ set, ...definition }: SetCommand): Command {
  return defineTableCommand({
    ...definition,
    names: 'TAG [VERSION]',
    options: [BRANCH_OPTION],
    async run(session, table, tag = '', text?: string) {
      const { client, given } = session;
      const branch = readBranch(given);
      const latest = async () => (await describeTable(client, table, branch)).version ?? 0;
      const version = text === undefined ? await latest() : requireVersion(text);
      const reply = await set(client, table, { tag, version, ...branch });
      return printResult(session, reply, `${tag} is version ${version} now.\n`);
    },
  });
}
