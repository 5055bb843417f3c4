import { listTags, listVersions, restoreTable } from '../../client/history.ts';
import { formatCount } from '../../plans/format-figure.ts';
import { defineTableCommand } from '../client-command.ts';
import { UsageError } from '../command.ts';
import type { Command } from '../command.ts';
import { readNumber } from '../options.ts';
import { BRANCH_OPTION, printResult, readBranch, showPath } from '../session.ts';
import { drawTable, numberColumn, textColumn } from '../show/draw-table.ts';
import { formatMoment } from '../show/text.ts';

const LIMIT_DEFAULT = 20;

const HEADS = [
  numberColumn('version'),
  textColumn('committed'),
  numberColumn('rows'),
  numberColumn('fragments'),
  textColumn('tags'),
];

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
      return printResult(session, { versions }, drawTable(HEADS, rows, session.canvas));
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
