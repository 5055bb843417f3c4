import { defined } from '../../client/api-client.ts';
import type { ApiClient } from '../../client/api-client.ts';
import { listBranches, listTags, listVersions } from '../../client/history.ts';
import type { State } from '../../client/history.ts';
import { countRows } from '../../client/rows.ts';
import { listIndexes, describeMaintenance, describeTable, tableStats } from '../../client/tables.ts';
import type { TablePath } from '../../model/identifier.ts';
import { formatBytes } from '../../plans/format-figure.ts';
import type { TableStatsReply } from '../../wire/tables.ts';
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

/** For an earlier version, only the number of rows. */
type Size = Pick<TableStatsReply, 'num_rows'> & Partial<TableStatsReply>;

type Facts = Awaited<ReturnType<typeof readFacts>>;

async function readFacts(session: TableSession) {
  const { client, table } = session;
  const state = await readState(session);
  const described = await describeTable(client, table, { ...state, load_detailed_metadata: true });
  if (described.is_only_declared) return { described };
  const { version, ...branch } = state;
  const [size, indexes, versions, tags, branches, maintenance] = await Promise.all([
    // File sizes are known only for the latest version.
    version === undefined ? tableStats(client, table, branch) : countOnly(client, table, state),
    listIndexes(client, table, state),
    listVersions(client, table, { ...branch, limit: VERSIONS_SHOWN }),
    listTags(client, table),
    listBranches(client, table),
    describeMaintenance(client, table),
  ]);
  return { described, history: { versions, tags, branches }, branch: branch.branch, size, indexes, maintenance };
}

async function countOnly(client: ApiClient, table: TablePath, state: State): Promise<Size> {
  return { num_rows: await countRows(client, table, state) };
}

function toReply({ described, size: found, indexes, history, maintenance }: Facts): object {
  const size = found && defined({ total_bytes: found.total_bytes, num_rows: found.num_rows });
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

function headPairs({ described, size, maintenance }: Facts): readonly Pair[] {
  const pairs: Pair[] = [['location', visibleText(described.location)]];
  if (size !== undefined) pairs.unshift(['rows', sizeText(size)]);
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

function sizeText({ num_rows: rows, total_bytes: bytes, fragment_stats: fragments }: Size): string {
  if (bytes === undefined || fragments === undefined) return countOf(rows, 'row');
  return `${countOf(rows, 'row')}, ${formatBytes(bytes)} in ${countOf(fragments.num_fragments, 'fragment')}`;
}

function historyPairs({ history, branch }: Facts): readonly Pair[] {
  if (history === undefined) return [];
  const tags = Object.entries(history.tags);
  const rows = history.versions.map(({ version, timestamp_millis: time, metadata }): Pair => {
    const names = tags.filter(([, tag]) => tag.version === version && tag.branch === branch).map(([name]) => name);
    const count = metadata['total_rows'] === undefined ? [] : [countOf(Number(metadata['total_rows']), 'row')];
    return [
      String(version),
      [formatMoment(time), ...count, ...(names.length === 0 ? [] : [names.join(', ')])].join('  '),
    ];
  });
  const branches = Object.keys(history.branches);
  return branches.length === 0 ? rows : [...rows, ['branches', branches.join(', ')]];
}
