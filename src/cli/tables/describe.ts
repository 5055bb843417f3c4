import { defined } from '../../client/api-client.ts';
import { listBranches, listTags, listVersions } from '../../client/history.ts';
import { listIndexes, describeMaintenance, describeTable, tableStats } from '../../client/tables.ts';
import { formatBytes } from '../../plans/format-figure.ts';
import { defineTableCommand } from '../client-command.ts';
import { STATE_OPTIONS, readState, showPath } from '../session.ts';
import type { TableSession } from '../session.ts';
import { drawIndexes, drawSchema } from '../show/draw-schema.ts';
import { drawPairs } from '../show/draw-table.ts';
import type { Pair } from '../show/draw-table.ts';
import { countOf, formatMoment, visibleText } from '../show/text.ts';

const VERSIONS_SHOWN = 5;

export const describeCommand = defineTableCommand({
  words: ['describe'],
  summary: 'show the schema, size, indexes and versions of a table',
  options: STATE_OPTIONS,
  examples: ['describe orders', 'describe eu/orders --at v1', 'describe orders --json'],
  async run(session) {
    const facts = await readFacts(session);
    return { reply: toReply(facts), text: draw(facts, session) };
  },
});

type Facts = Awaited<ReturnType<typeof readFacts>>;

async function readFacts(session: TableSession) {
  const { client, table } = session;
  const state = await readState(session);
  const described = await describeTable(client, table, { ...state, load_detailed_metadata: true });
  if (described.is_only_declared) return { described };
  const { version: _version, ...branch } = state;
  const [stats, indexes, versions, tags, branches, maintenance] = await Promise.all([
    tableStats(client, table, branch),
    listIndexes(client, table, state),
    listVersions(client, table, { ...branch, limit: VERSIONS_SHOWN }),
    listTags(client, table),
    listBranches(client, table),
    describeMaintenance(client, table),
  ]);
  return { described, history: { versions, tags, branches }, stats, indexes, maintenance };
}

function toReply({ described, stats, indexes, history, maintenance }: Facts): object {
  const size = stats && { total_bytes: stats.total_bytes, num_rows: stats.num_rows };
  return { ...described, ...defined({ size, indexes }), ...history, ...defined({ maintenance: maintenance?.state }) };
}

function draw(facts: Facts, { table, canvas }: TableSession): string {
  const { paint } = canvas;
  const { described, indexes = [] } = facts;
  const heading = (text: string): string => `\n${paint.bold(text)}\n`;
  const parts = [`${paint.bold(visibleText(showPath(table)))}\n`, drawPairs(headPairs(facts), canvas)];
  if (described.schema === undefined) return `${parts.join('')}The table is declared and has no data yet.\n`;
  parts.push(heading('Schema'), drawSchema(described.schema, canvas));
  if (indexes.length > 0) parts.push(heading('Indexes'), drawIndexes(indexes, canvas));
  const history = historyPairs(facts);
  if (history.length > 0) parts.push(heading('Versions'), drawPairs(history, canvas));
  return parts.join('');
}

const WORK: Readonly<Record<string, string>> = {
  fragments: 'merge small fragments',
  deletions: 'drop deleted rows',
  index: 'update indexes',
};

function headPairs({ described, stats, maintenance }: Facts): readonly Pair[] {
  const pairs: Pair[] = [['location', visibleText(described.location)]];
  if (stats !== undefined) {
    const fragments = countOf(stats.fragment_stats.num_fragments, 'fragment');
    const size = `${countOf(stats.num_rows, 'row')}, ${formatBytes(stats.total_bytes)} in ${fragments}`;
    pairs.unshift(['rows', size]);
  }
  if (described.version !== undefined) pairs.unshift(['version', String(described.version)]);
  if (maintenance !== undefined) {
    const { reasons } = maintenance.would_do;
    const work = reasons.map((reason) => WORK[reason] ?? reason);
    const todo = work.length === 0 ? 'nothing to do' : `a run would ${new Intl.ListFormat('en').format(work)}`;
    pairs.push(['maintenance', `${maintenance.state}, ${todo}`]);
  }
  const texts = Object.entries({ ...described.metadata, ...described.properties });
  return [...pairs, ...texts.map(([name, value]) => [visibleText(name), visibleText(value)] as const)];
}

function historyPairs({ history }: Facts): readonly Pair[] {
  if (history === undefined) return [];
  const tags = Object.entries(history.tags);
  const rows = history.versions.map(({ version, timestamp_millis: time, metadata }): Pair => {
    const names = tags.filter(([, tag]) => tag.version === version && tag.branch === undefined).map(([name]) => name);
    const count = metadata['total_rows'] === undefined ? [] : [countOf(Number(metadata['total_rows']), 'row')];
    return [
      String(version),
      [formatMoment(time), ...count, ...(names.length === 0 ? [] : [names.join(', ')])].join('  '),
    ];
  });
  const branches = Object.keys(history.branches);
  return branches.length === 0 ? rows : [...rows, ['branches', branches.join(', ')]];
}
