import { defined } from '../../client/api-client.ts';
import {
  createBranch,
  createTag,
  deleteBranch,
  deleteTag,
  listBranches,
  listTags,
  listVersions,
  operationWords,
  readCommits,
  restoreTable,
  updateTag,
} from '../../client/history.ts';
import { describeTable, listIndexes } from '../../client/tables.ts';
import { formatCount } from '../../plans/format-figure.ts';
import type { Transaction } from '../../wire/history/transactions.ts';
import { defineTableCommand } from '../client-command.ts';
import type { TableCommand } from '../client-command.ts';
import { EXIT, UsageError } from '../command.ts';
import type { Command } from '../command.ts';
import { readNumber } from '../options.ts';
import { BRANCH_OPTION, YES_OPTION, confirm, readBranch, readState, showPath } from '../session.ts';
import type { TableSession } from '../session.ts';
import { drawTable } from '../show/draw-table.ts';
import { formatMoment, visibleText } from '../show/text.ts';

const LIMIT_DEFAULT = 20;
const VERSION_HEADS = [
  { number: 'version' },
  'committed',
  'change',
  'by',
  { number: 'rows' },
  { number: 'fragments' },
  'tags',
];

export const versionCommands: readonly Command[] = [
  defineTableCommand({
    words: ['versions'],
    summary: 'list the versions of a table, latest first',
    about: `Lists the versions of a table, latest first, with the change that created each and the name of the key or client, or
the principal, that made it. Both are empty for versions from before the table got its name, and for those of programs
that write past the server.`,
    options: [{ name: 'limit', short: 'k', value: 'N', help: 'number of versions (default 20)' }, BRANCH_OPTION],
    examples: ['versions orders', 'versions orders --branch trial -k 5'],
    async run({ client, table, given, canvas }) {
      const on = readBranch(given);
      const limit = readNumber(given, 'limit', 1) ?? LIMIT_DEFAULT;
      const [versions, tags] = await Promise.all([
        listVersions(client, table, { ...on, limit }),
        listTags(client, table),
      ]);
      const commits = await readCommits(client, table, { versions, branch: on.branch });
      const rows = versions.map(({ version, timestamp_millis: time, metadata }) => [
        String(version),
        formatMoment(time),
        ...changeText(commits.get(version)),
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
    summary: 'restore an earlier version of a table',
    about: `Creates a new version with the contents of an earlier one. The versions in between stay.
Indexes and columns that the earlier version does not have are removed; at a terminal, the command asks first.`,
    options: [YES_OPTION, BRANCH_OPTION],
    examples: ['versions restore orders 12', 'versions restore orders 12 --yes'],
    async run(session, name) {
      const { client, table, given, terminal } = session;
      const version = requireVersion(name);
      const branch = readBranch(given);
      const losses = await findLosses(session, version);
      const isAsked = losses !== '' && terminal.ask !== undefined;
      if (isAsked && !(await confirm(session, `Version ${version} does not have ${losses}. Restore it?`))) {
        return EXIT.done;
      }
      const { version: latest = 0 } = await describeTable(client, table, branch);
      const reply = await restoreTable(client, table, { version, ...branch });
      const gone = losses === '' ? '' : `It does not have ${losses}: version ${latest} still does.\n`;
      const text = `Restored version ${version} of ${showPath(table)} as version ${reply.version}.\n${gone}`;
      return { reply, text };
    },
  }),
];

/** Indexes and columns that only the latest version has; empty if there are none. */
async function findLosses({ client, table, given }: TableSession, version: number): Promise<string> {
  const branch = readBranch(given);
  const [indexes, keptIndexes, latest, kept] = await Promise.all([
    listIndexes(client, table, branch),
    listIndexes(client, table, { ...branch, version }),
    describeTable(client, table, branch),
    describeTable(client, table, { ...branch, version }),
  ]);
  const [indexNames, keptNames] = [indexes, keptIndexes].map((each) => each.map((index) => index.index_name));
  const [columns, keptColumns] = [latest, kept].map(({ schema }) => schema?.fields.map((field) => field.name) ?? []);
  return [...namesText('index', indexNames, keptNames), ...namesText('column', columns, keptColumns)].join(' and ');
}

/** `the index a`, `the columns a, b`. */
function namesText(noun: string, all: readonly string[] = [], kept: readonly string[] = []): readonly string[] {
  const names = all.filter((name) => !kept.includes(name)).map(visibleText);
  if (names.length === 0) return [];
  const plural = noun === 'index' ? 'indexes' : `${noun}s`;
  return [`the ${names.length === 1 ? noun : plural} ${names.join(', ')}`];
}

function changeText(commit: Transaction | undefined): readonly [string, string] {
  if (commit === undefined) return ['', ''];
  return [operationWords(commit), visibleText(commit.caller_name ?? commit.caller)];
}

function countText(count: string | undefined): string {
  return count === undefined ? '' : formatCount(Number(count));
}

function requireVersion(text = ''): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new UsageError(`VERSION must be a version number, not "${text}".`);
}

const BRANCH_HEADS = ['branch', 'from', { number: 'version' }, 'created'];

export const branchCommands: readonly Command[] = [
  defineTableCommand({
    words: ['branch', 'create'],
    names: 'BRANCH',
    summary: 'create a branch of a table',
    options: [
      {
        name: 'at',
        value: 'VERSION',
        help: 'start at this version, given as a number or a tag (default: latest)',
      },
      { name: 'branch', value: 'NAME', help: 'start from this branch (default: main)' },
    ],
    examples: ['branch create orders trial', 'branch create orders trial --at before-import'],
    async run(session, name = '') {
      const { client, table } = session;
      const { version, branch } = await readState(session);
      const body = { name, ...defined({ from_version: version, from_branch: branch }) };
      const reply = await createBranch(client, table, body);
      return { reply, text: `Created the branch ${name} of ${showPath(table)}.\n` };
    },
  }),
  defineTableCommand({
    words: ['branch', 'list'],
    summary: 'list the branches of a table',
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
    about: 'Deletes a branch and its data. At a terminal, the command asks first.',
    options: [YES_OPTION],
    examples: ['branch delete orders trial', 'branch delete orders trial --yes'],
    async run(session, name = '') {
      const { client, table, terminal } = session;
      const question = `Delete the branch ${name} of ${showPath(table)} and its data?`;
      if (terminal.ask !== undefined && !(await confirm(session, question))) return EXIT.failed;
      return {
        reply: await deleteBranch(client, table, { name }),
        text: `Deleted the branch ${name} of ${showPath(table)}.\n`,
      };
    },
  }),
];

const TAG_HEADS = ['tag', { number: 'version' }, 'branch'];

export const tagCommands: readonly Command[] = [
  defineTableCommand({
    words: ['tag', 'create'],
    summary: 'tag a version (default: the latest)',
    examples: ['tag create orders before-import', 'tag create orders v1 12'],
    ...setTagWith(createTag, (tag) => `Created the tag ${tag} at`),
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
    summary: 'move a tag to another version (default: the latest)',
    examples: ['tag move orders stable 14'],
    ...setTagWith(updateTag, (tag) => `Moved the tag ${tag} to`),
  }),
  defineTableCommand({
    words: ['tag', 'delete'],
    names: 'TAG',
    summary: 'delete a tag; its version stays',
    examples: ['tag delete orders before-import'],
    async run({ client, table }, tag = '') {
      return {
        reply: await deleteTag(client, table, { tag }),
        text: `Deleted the tag ${tag} of ${showPath(table)}.\n`,
      };
    },
  }),
];

function setTagWith(
  set: typeof createTag,
  say: (tag: string) => string,
): Pick<TableCommand, 'names' | 'options' | 'run'> {
  return {
    names: 'TAG [VERSION]',
    options: [BRANCH_OPTION],
    async run({ client, table, given }, tag = '', name?: string) {
      const branch = readBranch(given);
      const latest = async () => (await describeTable(client, table, branch)).version ?? 0;
      const version = name === undefined ? await latest() : requireVersion(name);
      const reply = await set(client, table, { tag, version, ...branch });
      return { reply, text: `${say(`${tag} of ${showPath(table)}`)} version ${version}.\n` };
    },
  };
}
