import { defined } from '../../client/api-client.ts';
import type { ApiClient } from '../../client/api-client.ts';
import { collect } from '../../client/calls.ts';
import { ClientError } from '../../client/client-error.ts';
import { createView, describeView, dropView, listViews, startRefresh } from '../../client/views.ts';
import { formatCount } from '../../plans/format-figure.ts';
import type { DescribeViewReply, ListViewsReply } from '../../wire/views.ts';
import { defineClientCommand, defineTableCommand } from '../client-command.ts';
import { EXIT } from '../command.ts';
import type { Command } from '../command.ts';
import { readNumber } from '../options.ts';
import { YES_OPTION, confirm, followJob, readNamespace, showPath } from '../session.ts';
import type { Result, TableSession } from '../session.ts';
import { drawPairs, drawTable } from '../show/draw-table.ts';
import type { Pair } from '../show/draw-table.ts';
import { countOf } from '../show/text.ts';

export const viewCommands: readonly Command[] = [
  defineTableCommand({
    words: ['view', 'create'],
    names: 'QUERY',
    summary: 'create a materialized view',
    about:
      'Creates a materialized view and fills it. QUERY is a SELECT from one table, with optional WHERE and LIMIT; expressions need a name (AS).',
    options: [
      { name: 'on-change', help: 'refresh it whenever its source changes' },
      { name: 'every', value: 'SECONDS', help: 'refresh it at this interval, if its source has changed' },
      { name: 'no-data', help: 'leave it empty until the first refresh' },
    ],
    advice: ({ status }) => (status === 409 ? TAKEN_ADVICE : undefined),
    examples: ["view create cheap 'SELECT id, price * 2 AS twice FROM orders WHERE price < 10' --on-change"],
    async run(session, query = '') {
      const { client, table, given } = session;
      const reply = await createView(client, table, {
        kind: 'query',
        source_query: query,
        with_no_data: given.has('no-data'),
        ...defined({
          auto_refresh: given.has('on-change') || undefined,
          refresh_seconds: readNumber(given, 'every', 1),
        }),
      });
      const name = showPath(table);
      if (reply.job_id === undefined) return { reply, text: `Created the view ${name}, without rows.\n` };
      return refreshed(session, reply.job_id, notFilled(name));
    },
  }),
  defineTableCommand({
    words: ['view', 'refresh'],
    summary: 'refresh a materialized view and wait for it',
    options: [{ name: 'source-version', value: 'N', help: 'version of its source (default: latest)' }],
    advice: adviseOnTable,
    examples: ['view refresh cheap'],
    async run(session) {
      const body = defined({ src_version: readNumber(session.given, 'source-version', 1) });
      const { job_id: id } = await startRefresh(session.client, session.table, body);
      return refreshed(session, id);
    },
  }),
  defineClientCommand({
    words: ['view', 'list'],
    names: '[NAMESPACE]',
    summary: 'list the materialized views of a database or a namespace',
    about: 'Lists the materialized views of a database or a namespace, and whether each is behind its source.',
    examples: ['view list', 'view list eu --json'],
    async run({ client, given, canvas }) {
      const listed = await collect(listViews(client, given.names.length === 0 ? [] : readNamespace(given)));
      const views = await describeAll(client, listed);
      const lines = views.map((view) => [view.table, view.source, refreshOf(view), stateOf(view)]);
      const text = drawTable(['view', 'source', 'refresh', 'state'], lines, canvas);
      return { reply: { views }, text, none: 'There are no materialized views.' };
    },
  }),
  defineTableCommand({
    words: ['view', 'describe'],
    summary: 'show the definition and the state of a materialized view',
    advice: adviseOnTable,
    examples: ['view describe cheap'],
    async run({ client, table, canvas }) {
      const reply = await describeView(client, table);
      const pairs: Pair[] = [
        ['source', reply.source],
        ...Object.entries(reply.columns).map(([name, sql]): Pair => [`column ${name}`, sql]),
        ...(reply.filter === undefined ? [] : [['filter', reply.filter] as Pair]),
        ...(reply.limit === undefined ? [] : [['limit', formatCount(reply.limit)] as Pair]),
        ['refresh', refreshOf(reply)],
        ['state', stateOf(reply)],
        ...(reply.last_refresh === undefined ? [] : [['last refresh', lastRefreshOf(reply)] as Pair]),
      ];
      return { reply, text: drawPairs(pairs, canvas) };
    },
  }),
  defineTableCommand({
    words: ['view', 'drop'],
    summary: 'drop a materialized view and delete its data',
    options: [YES_OPTION],
    advice: adviseOnTable,
    examples: ['view drop cheap --yes'],
    async run(session) {
      const { client, table } = session;
      if (!(await confirm(session, `Drop the view ${showPath(table)}?`))) return EXIT.failed;
      return { reply: await dropView(client, table), text: `Dropped the view ${showPath(table)}.\n` };
    },
  }),
];

const TAKEN_ADVICE =
  'Choose another name, or drop it first: "tiltyard view drop" for a view, "tiltyard drop" for a table.';

function adviseOnTable({ message }: ClientError): string | undefined {
  return message.includes('is not a materialized view') ? 'Run "tiltyard view list" to list the views.' : undefined;
}

async function refreshed(session: TableSession, id: string, hint?: string): Promise<Result | number> {
  const name = showPath(session.table);
  const job = await followJob(session, id, `refreshing ${name}`, hint);
  if (job === undefined) return EXIT.failed;
  const fields = new Map<string, unknown>(Object.entries(job.result ?? {}));
  const source = `version ${String(fields.get('source_version'))} of its source`;
  const rows = countOf(Number(fields.get('rows')), 'row');
  const text =
    fields.get('how') === 'unchanged'
      ? `${name} was up to date with ${source}.\n`
      : `Refreshed ${name} from ${source} (${String(fields.get('how'))}): ${rows}.\n`;
  return { reply: { job_id: id, result: job.result }, text };
}

function notFilled(name: string): string {
  const retry = `tiltyard view refresh ${name}`;
  return `Created the view ${name}, but it has no rows. Try again with: ${retry}, or remove it with: tiltyard view drop ${name}`;
}

type Listed = ListViewsReply['views'][number];
type Summary = Listed & Pick<DescribeViewReply, 'source_latest_version'>;

const DESCRIBED_AT_ONCE = 8;

/** Adds the latest version of each source. Omits views that were dropped meanwhile. */
async function describeAll(client: ApiClient, listed: readonly Listed[]): Promise<readonly Summary[]> {
  const views: Summary[] = [];
  for (let first = 0; first < listed.length; first += DESCRIBED_AT_ONCE) {
    const found = listed.slice(first, first + DESCRIBED_AT_ONCE).map(async (view) => describeListed(client, view));
    for (const view of await Promise.all(found)) if (view !== undefined) views.push(view);
  }
  return views;
}

async function describeListed(client: ApiClient, view: Listed): Promise<Summary | undefined> {
  try {
    const [first = '', ...rest] = view.id;
    const { source_latest_version: latest } = await describeView(client, [first, ...rest]);
    return { ...view, ...defined({ source_latest_version: latest }) };
  } catch (error) {
    if (error instanceof ClientError && error.status === 404) return undefined;
    throw error;
  }
}

function refreshOf({ refresh, refresh_seconds: seconds }: Summary): string {
  return seconds === undefined ? refresh.replace('_', ' ') : `every ${seconds} s`;
}

function stateOf({
  source_version: version,
  source_latest_version: latest,
  source_dropped: isDropped,
}: Summary): string {
  if (isDropped === true) return 'the source was dropped';
  if (latest === undefined) return 'you may not read the source';
  if (version === undefined) return 'never refreshed';
  return version === latest ? `up to date with version ${latest}` : `behind: has version ${version} of ${latest}`;
}

function lastRefreshOf({ last_refresh: how = 'refreshed', refreshed_at_millis: at }: Summary): string {
  return at === undefined ? how : `${how}, ${new Date(at).toISOString()}`;
}
