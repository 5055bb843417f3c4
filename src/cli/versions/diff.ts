import { defined } from '../../client/api-client.ts';
import { listTags } from '../../client/history.ts';
import { diffTable } from '../../client/rows.ts';
import type { DiffedState } from '../../wire/history/diffs.ts';
import { defineTableCommand } from '../client-command.ts';
import { readNumber } from '../options.ts';
import type { Given } from '../options.ts';
import { showPath } from '../session.ts';
import type { TableSession } from '../session.ts';
import { drawDiff } from '../show/draw-diff.ts';

const LIMIT_DEFAULT = 20;
const NAME_ADVICE =
  'No tag has this name either. Run "tiltyard tag list" and "tiltyard branch list" to see the names of the table.';

export const diffCommand = defineTableCommand({
  words: ['diff'],
  names: 'FROM [TO]',
  summary: 'show the rows that differ between two versions or branches',
  about: [
    'Shows the rows that were added, removed and changed between two versions. The default of TO is the latest version.',
    'FROM and TO are version numbers, tags, branches (their latest versions) or BRANCH@VERSION.',
  ].join('\n'),
  options: [
    { name: 'on', value: 'COLUMNS', help: 'columns that identify a row, such as region,sku (default: a key or id)' },
    { name: 'columns', value: 'COLUMNS', help: 'compare and show only these columns' },
    { name: 'limit', short: 'k', value: 'N', help: 'maximum number of rows to show (default 20); all are counted' },
  ],
  examples: [
    'diff orders 12',
    'diff orders before-import 15 --on sku',
    'diff orders main trial',
    'diff orders trial@7',
  ],
  advice: ({ message }) => (/^The branch .* was not found/.test(message) ? NAME_ADVICE : undefined),
  async run(session, from = '', to?: string) {
    const { client, table, given, canvas } = session;
    const body = {
      from: await readState(session, from),
      ...(to === undefined ? {} : { to: await readState(session, to) }),
      ...defined({ on: readNames(given, 'on'), columns: readNames(given, 'columns') }),
      limit: readNumber(given, 'limit', 0) ?? LIMIT_DEFAULT,
    };
    const diff = await diffTable(client, table, body);
    return { reply: diff, text: drawDiff(showPath(table), diff, canvas) };
  },
});

function readNames(given: Given, option: string): string[] | undefined {
  return given.value(option)?.split(',');
}

/** A name is that of a tag, otherwise of a branch. */
async function readState({ client, table }: TableSession, text: string): Promise<DiffedState> {
  if (/^\d{1,15}$/.test(text)) return { version: Number(text) };
  const [, branch, version] = /^(.+)@(\d{1,15})$/.exec(text) ?? [];
  if (branch !== undefined) return { branch, version: Number(version) };
  return Object.hasOwn(await listTags(client, table), text) ? { tag: text } : { branch: text };
}
