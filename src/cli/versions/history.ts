import { defined } from '../../client/api-client.ts';
import {
  createBranch,
  createTag,
  deleteBranch,
  deleteTag,
  listBranches,
  listTags,
  listVersions,
  restoreTable,
  updateTag,
} from '../../client/history.ts';
import { describeTable } from '../../client/tables.ts';
import { formatCount } from '../../plans/format-figure.ts';
import { defineTableCommand } from '../client-command.ts';
import type { TableCommand } from '../client-command.ts';
import { UsageError } from '../command.ts';
import type { Command } from '../command.ts';
import { readNumber } from '../options.ts';
import { BRANCH_OPTION, readBranch, readState, showPath } from '../session.ts';
import { drawTable } from '../show/draw-table.ts';
import { formatMoment } from '../show/text.ts';

const LIMIT_DEFAULT = 20;
const VERSION_HEADS = [{ number: 'version' }, 'committed', { number: 'rows' }, { number: 'fragments' }, 'tags'];

export const versionCommands: readonly Command[] = [
  defineTableCommand({
    words: ['versions'],
    summary: 'list the versions of a table, the latest first',
    options: [{ name: 'limit', short: 'k', value: 'N', help: 'how many at most (default 20)' }, BRANCH_OPTION],
    examples: ['versions orders', 'versions orders --branch trial -k 5'],
    async run({ client, table, given, canvas }) {
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
      return { reply: { versions }, text: drawTable(VERSION_HEADS, rows, canvas) };
    },
  }),
  defineTableCommand({
    words: ['versions', 'restore'],
    names: 'VERSION',
    summary: 'make the contents of an earlier version the latest',
    about: 'Makes a new version with the contents of an earlier one; nothing is lost, the versions between stay.',
    options: [BRANCH_OPTION],
    examples: ['versions restore orders 12'],
    async run({ client, table, given }, name) {
      const version = requireVersion(name);
      const reply = await restoreTable(client, table, { version, ...readBranch(given) });
      const text = `${showPath(table)} has the contents of version ${version} again, as version ${reply.version}.\n`;
      return { reply, text };
    },
  }),
];

function countText(count: string | undefined): string {
  return count === undefined ? '' : formatCount(Number(count));
}

function requireVersion(text = ''): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new UsageError(`VERSION must be the number of a version, not "${text}".`);
}

const BRANCH_HEADS = ['branch', 'from', { number: 'version' }, 'made'];

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
    async run(session, name = '') {
      const { client, table } = session;
      const { version, branch } = await readState(session);
      const body = { name, ...defined({ from_version: version, from_branch: branch }) };
      const reply = await createBranch(client, table, body);
      return { reply, text: `The branch ${name} of ${showPath(table)} is there.\n` };
    },
  }),
  defineTableCommand({
    words: ['branch', 'list'],
    summary: 'list the branches of a table beside the main one',
    examples: ['branch list orders'],
    async run({ client, table, canvas }) {
      const branches = await listBranches(client, table);
      const rows = Object.entries(branches).map(([name, { parentBranch, parentVersion, createAt }]) => {
        return [name, parentBranch ?? 'main', String(parentVersion), formatMoment(createAt * 1000)];
      });
      const text = rows.length === 0 ? '' : drawTable(BRANCH_HEADS, rows, canvas);
      return { reply: { branches }, text, none: `${showPath(table)} has no branches.` };
    },
  }),
  defineTableCommand({
    words: ['branch', 'delete'],
    names: 'BRANCH',
    summary: 'delete a branch and its data',
    examples: ['branch delete orders trial'],
    async run({ client, table }, name = '') {
      return { reply: await deleteBranch(client, table, { name }), text: `The branch ${name} is deleted.\n` };
    },
  }),
];

const TAG_HEADS = ['tag', { number: 'version' }, 'branch'];

export const tagCommands: readonly Command[] = [
  defineTableCommand({
    words: ['tag', 'create'],
    summary: 'give a version a name; the latest when none is given',
    examples: ['tag create orders before-import', 'tag create orders v1 12'],
    ...setTagWith(createTag),
  }),
  defineTableCommand({
    words: ['tag', 'list'],
    summary: 'list the tags of a table',
    examples: ['tag list orders'],
    async run({ client, table, canvas }) {
      const tags = await listTags(client, table);
      const rows = Object.entries(tags).map(([name, { version, branch }]) => [name, String(version), branch ?? 'main']);
      const text = rows.length === 0 ? '' : drawTable(TAG_HEADS, rows, canvas);
      return { reply: { tags }, text, none: `${showPath(table)} has no tags.` };
    },
  }),
  defineTableCommand({
    words: ['tag', 'move'],
    summary: 'let a tag name another version; the latest when none is given',
    examples: ['tag move orders stable 14'],
    ...setTagWith(updateTag),
  }),
  defineTableCommand({
    words: ['tag', 'delete'],
    names: 'TAG',
    summary: 'delete a tag; its version stays',
    examples: ['tag delete orders before-import'],
    async run({ client, table }, tag = '') {
      return { reply: await deleteTag(client, table, { tag }), text: `The tag ${tag} is deleted.\n` };
    },
  }),
];

function setTagWith(set: typeof createTag): Pick<TableCommand, 'names' | 'options' | 'run'> {
  return {
    names: 'TAG [VERSION]',
    options: [BRANCH_OPTION],
    async run({ client, table, given }, tag = '', name?: string) {
      const branch = readBranch(given);
      const latest = async () => (await describeTable(client, table, branch)).version ?? 0;
      const version = name === undefined ? await latest() : requireVersion(name);
      const reply = await set(client, table, { tag, version, ...branch });
      return { reply, text: `${tag} is version ${version} now.\n` };
    },
  };
}
