import { listTags, listVersions, restoreTable } from '../../client/history.ts';
import { formatCount } from '../../plans/format-figure.ts';
import type { TagShape } from '../../wire/history/tags.ts';
import { answer, defineClientCommand, requireTable, showPath } from '../client-command.ts';
import { CommandFault } from '../command.ts';
import type { Command } from '../command.ts';
import { readNumber } from '../options.ts';
import { BRANCH_OPTION, readBranch } from '../session.ts';
import { formatMoment } from '../show/text.ts';
import { drawTable } from '../show/draw-table.ts';

const LIMIT_DEFAULT = 20;

const HEADS = [
  { title: 'version', align: 'right' },
  { title: 'committed' },
  { title: 'rows', align: 'right' },
  { title: 'fragments', align: 'right' },
  { title: 'tags' },
] as const;

const listCommand = defineClientCommand({
  words: ['versions'],
  names: 'TABLE',
  summary: 'list the versions of a table, the latest first',
  options: [{ name: 'limit', short: 'k', value: 'N', help: 'how many at most (default 20)' }, BRANCH_OPTION],
  examples: ['versions orders', 'versions orders --branch trial -k 5'],
  async run(session) {
    const { client, given } = session;
    const table = requireTable(given);
    const limit = readNumber(given, 'limit', { minimum: 1 }) ?? LIMIT_DEFAULT;
    const [versions, tags] = await Promise.all([
      listVersions(client, table, { ...readBranch(given), limit }),
      listTags(client, table),
    ]);
    const rows = versions.map(({ version, timestamp_millis: time, metadata }) => [
      String(version),
      formatMoment(time),
      countText(metadata['total_rows']),
      countText(metadata['total_fragments']),
      tagsOf(tags, version, given.value('branch')),
    ]);
    return answer(session, { versions }, drawTable(HEADS, rows, session.canvas));
  },
});

function countText(count: string | undefined): string {
  return count === undefined ? '' : formatCount(Number(count));
}

function tagsOf(tags: Readonly<Record<string, TagShape>>, version: number, branch: string | undefined): string {
  return Object.entries(tags)
    .filter(([, tag]) => tag.version === version && tag.branch === branch)
    .map(([name]) => name)
    .join(', ');
}

const restoreCommand = defineClientCommand({
  words: ['versions', 'restore'],
  names: 'TABLE VERSION',
  summary: 'make the contents of an earlier version the latest',
  about: 'Makes a new version with the contents of an earlier one; nothing is lost, the versions between stay.',
  options: [BRANCH_OPTION],
  examples: ['versions restore orders 12'],
  async run(session) {
    const { client, given } = session;
    const table = requireTable(given);
    const version = requireVersion(given.names[1] ?? '');
    const reply = await restoreTable(client, table, { version, ...readBranch(given) });
    const shown = `${showPath(table)} has the contents of version ${version} again, as version ${reply.version}.\n`;
    return answer(session, reply, shown);
  },
});

export function requireVersion(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new CommandFault([`VERSION must be the number of a version, not "${text}".`]);
}

export const versionCommands: readonly Command[] = [listCommand, restoreCommand];
