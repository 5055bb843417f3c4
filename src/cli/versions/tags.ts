import type { ApiClient } from '../../client/api-client.ts';
import { createTag, deleteTag, listTags, updateTag } from '../../client/history.ts';
import { describeTable } from '../../client/tables.ts';
import type { TablePath } from '../../model/identifier.ts';
import type { TagChangeBody } from '../../wire/history/tags.ts';
import { answerList, BRANCH_OPTION, readBranch } from '../session.ts';
import { answer, defineClientCommand, requireTable, showPath } from '../client-command.ts';
import type { Command } from '../command.ts';
import type { Given } from '../options.ts';
import { requireVersion } from './versions.ts';

const HEADS = [{ title: 'tag' }, { title: 'version', align: 'right' }, { title: 'branch' }] as const;

const listCommand = defineClientCommand({
  words: ['tag', 'list'],
  names: 'TABLE',
  summary: 'list the tags of a table',
  examples: ['tag list orders'],
  async run(session) {
    const table = requireTable(session.given);
    const tags = await listTags(session.client, table);
    const rows = Object.entries(tags).map(([name, { version, branch }]) => [name, String(version), branch ?? 'main']);
    return answerList(session, { reply: { tags }, heads: HEADS, rows, none: `${showPath(table)} has no tags.` });
  },
});

const createCommand = changeCommand({
  word: 'create',
  summary: 'give a version a name; the latest when none is given',
  examples: ['tag create orders before-import', 'tag create orders v1 12'],
  change: createTag,
});

const moveCommand = changeCommand({
  word: 'move',
  summary: 'let a tag name another version; the latest when none is given',
  examples: ['tag move orders stable 14'],
  change: updateTag,
});

interface TagChange {
  readonly word: string;
  readonly summary: string;
  readonly examples: readonly string[];
  readonly change: typeof createTag;
}

function changeCommand({ word, summary, examples, change }: TagChange): Command {
  return defineClientCommand({
    words: ['tag', word],
    names: 'TABLE TAG [VERSION]',
    summary,
    options: [BRANCH_OPTION],
    examples,
    async run(session) {
      const { client, given } = session;
      const table = requireTable(given);
      const body = await readTag(client, table, given);
      return answer(session, await change(client, table, body), `${body.tag} is version ${body.version} now.\n`);
    },
  });
}

const deleteCommand = defineClientCommand({
  words: ['tag', 'delete'],
  names: 'TABLE TAG',
  summary: 'delete a tag; its version stays',
  examples: ['tag delete orders before-import'],
  async run(session) {
    const { client, given } = session;
    const tag = given.names[1] ?? '';
    return answer(session, await deleteTag(client, requireTable(given), { tag }), `The tag ${tag} is deleted.\n`);
  },
});

async function readTag(client: ApiClient, table: TablePath, given: Given): Promise<TagChangeBody> {
  const [, tag = '', version] = given.names;
  const branch = readBranch(given);
  if (version !== undefined) return { tag, version: requireVersion(version), ...branch };
  const latest = await describeTable(client, table, branch);
  return { tag, version: latest.version ?? 0, ...branch };
}

export const tagCommands: readonly Command[] = [createCommand, listCommand, moveCommand, deleteCommand];
