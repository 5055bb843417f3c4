import { createTag, deleteTag, listTags, updateTag } from '../../client/history.ts';
import { describeTable } from '../../client/tables.ts';
import { defineTableCommand } from '../client-command.ts';
import type { Command } from '../command.ts';
import { BRANCH_OPTION, printList, printResult, readBranch, showPath } from '../session.ts';
import { numberColumn, textColumn } from '../show/draw-table.ts';
import { requireVersion } from './versions.ts';

const HEADS = [textColumn('tag'), numberColumn('version'), textColumn('branch')];

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
      return printList(session, { reply: { tags }, heads: HEADS, rows, none: `${showPath(table)} has no tags.` });
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
