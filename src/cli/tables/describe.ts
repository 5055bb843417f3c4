import { listBranches, listTags, listVersions } from '../../client/history.ts';
import { listIndexes } from '../../client/indexes.ts';
import { describeMaintenance, describeTable, tableStats } from '../../client/tables.ts';
import type { TablePath } from '../../model/identifier.ts';
import { defineClientCommand, answer, requireTable, showPath } from '../client-command.ts';
import type { Session } from '../client-command.ts';
import type { Command } from '../command.ts';
import { STATE_OPTIONS, readState } from '../session.ts';
import { drawIndexes, drawSchema } from '../show/draw-schema.ts';
import { formatBytes } from '../../plans/format-figure.ts';
import { countOf, formatMoment, visibleText } from '../show/text.ts';
import { drawPairs } from '../show/draw-table.ts';
import type { Canvas } from '../show/draw-table.ts';

const VERSIONS_SHOWN = 5;

export const describeCommand: Command = defineClientCommand({
  words: ['describe'],
  names: 'TABLE',
  summary: 'show schema, metadata, size, indexes and versions of a table',
  options: STATE_OPTIONS,
  examples: ['describe orders', 'describe eu/orders --at v1', 'describe orders --json'],
  async run(session) {
    const table = requireTable(session.given);
    const facts = await readFacts(session, table);
    return answer(session, toReply(facts), draw(table, facts, session.canvas));
  },
});

type Facts = Awaited<ReturnType<typeof readFacts>>;

async function readFacts({ client, given }: Session, table: TablePath) {
  const state = await readState(client, table, given);
  const described = await describeTable(client, table, { ...state, load_detailed_metadata: true });
  if (described.is_only_declared) return { described };
  const limit = VERSIONS_SHOWN;
  const ofBranch = state.branch === undefined ? {} : { branch: state.branch };
  const [stats, indexes, versions, tags, branches, maintenance] = await Promise.all([
    tableStats(client, table, ofBranch),
    listIndexes(client, table, state),
    listVersions(client, table, { ...ofBranch, limit }),
    listTags(client, table),
    listBranches(client, table),
    describeMaintenance(client, table),
  ]);
  return { described, history: { versions, tags, branches }, stats, indexes, maintenance };
}

function toReply({ described, stats, indexes, history, maintenance }: Facts): object {
  const { context: _context, ...rest } = described;
  return {
    ...rest,
    ...(stats === undefined ? {} : { size: { total_bytes: stats.total_bytes, num_rows: stats.num_rows } }),
    ...(indexes === undefined ? {} : { indexes }),
    ...history,
    ...(maintenance === undefined ? {} : { maintenance: maintenance.state }),
  };
}

function draw(table: TablePath, facts: Facts, canvas: Canvas): string {
  const { paint } = canvas;
  const { described, indexes } = facts;
  const heading = (text: string): string => `\n${paint.bold(text)}\n`;
  const parts = [`${paint.bold(visibleText(showPath(table)))}\n`, drawPairs(headPairs(facts), canvas)];
  if (described.schema === undefined) return `${parts.join('')}The table is declared, and has no data yet.\n`;
  parts.push(heading('Schema'), drawSchema(described.schema, canvas));
  if (indexes !== undefined && indexes.length > 0) parts.push(heading('Indexes'), drawIndexes(indexes, canvas));
  const history = historyPairs(facts);
  if (history.length > 0) parts.push(heading('Versions'), drawPairs(history, canvas));
  return parts.join('');
}

type Pairs = readonly (readonly [string, string])[];

function headPairs({ described, stats, maintenance }: Facts): Pairs {
  const texts = { ...described.metadata, ...described.properties };
  return [
    ...(described.version === undefined ? [] : [['version', String(described.version)] as const]),
    ...(stats === undefined ? [] : [['rows', sizeText(stats)] as const]),
    ['location', visibleText(described.location)],
    ...(maintenance === undefined ? [] : [['maintenance', maintenanceText(maintenance)] as const]),
    ...Object.entries(texts).map(([name, value]) => [visibleText(name), visibleText(value)] as const),
  ];
}

function sizeText(stats: NonNullable<Facts['stats']>): string {
  const fragments = countOf(stats.fragment_stats.num_fragments, 'fragment');
  return `${countOf(stats.num_rows, 'row')}, ${formatBytes(stats.total_bytes)} in ${fragments}`;
}

function maintenanceText({ state, would_do: { reasons } }: NonNullable<Facts['maintenance']>): string {
  return reasons.length === 0 ? `${state}, in order` : `${state}, to improve: ${reasons.join(', ')}`;
}

function historyPairs({ history }: Facts): Pairs {
  if (history === undefined) return [];
  const tagged = new Map<string, string[]>();
  for (const [tag, { version, branch }] of Object.entries(history.tags)) {
    const key = `${branch ?? ''} ${version}`;
    tagged.set(key, [...(tagged.get(key) ?? []), tag]);
  }
  const rows = history.versions.map(({ version, timestamp_millis: time, metadata }) => {
    const tags = tagged.get(` ${version}`) ?? [];
    const count = metadata['total_rows'] === undefined ? '' : `  ${countOf(Number(metadata['total_rows']), 'row')}`;
    return [
      String(version),
      `${formatMoment(time)}${count}${tags.length === 0 ? '' : `  ${tags.join(', ')}`}`,
    ] as const;
  });
  const branches = Object.keys(history.branches);
  return branches.length === 0 ? rows : [...rows, ['branches', branches.join(', ')]];
}
