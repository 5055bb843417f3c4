import { listIndexes } from '../../client/indexes.ts';
import { analyzePlan, queryRows } from '../../client/rows.ts';
import type { PlanAnalysis } from '../../client/rows.ts';
import { describeTable, tableStats } from '../../client/tables.ts';
import type { TablePath } from '../../model/identifier.ts';
import type { Finding, PlanContext } from '../../plans/advice.ts';
import { comparePlans, recallOf } from '../../plans/compare-plans.ts';
import { findAdvice } from '../../plans/find-advice.ts';
import type { RowId } from '../../plans/compare-plans.ts';
import { totalTime } from '../../plans/plan-steps.ts';
import type { QueryTableBody } from '../../wire/data.ts';
import type { SchemaJson } from '../../wire/schema/schema-json.ts';
import { answer, defineClientCommand, requireTable } from '../client-command.ts';
import type { Session } from '../client-command.ts';
import type { Command } from '../command.ts';
import { readArguments } from '../options.ts';
import type { Given } from '../options.ts';
import { QUERY_OPTIONS, readQuery } from './query-options.ts';
import { drawComparison, drawPlan, drawPlanHead, drawFindings } from './draw-plan.ts';

export const planCommand: Command = defineClientCommand({
  words: ['plan'],
  names: 'TABLE',
  summary: 'run a query, and show what each step of it cost',
  about: `Draws the steps of a query as a tree with their times, rows and reads, and says what could be better.
With --compare it runs a second query beside: the same, but with the options that are given there, without their dashes.`,
  options: [
    ...QUERY_OPTIONS,
    {
      name: 'compare',
      value: 'OPTION',
      repeats: true,
      help: 'compare with no-index, nprobes=20, at=3, …; may be repeated',
    },
    { name: 'details', help: 'show what each step was told to do' },
  ],
  examples: [
    'plan orders --where "price > 100"',
    'plan pictures --like 42 --compare no-index',
    'plan pictures --vector @cat.json --nprobes 5 --compare nprobes=50 --compare refine-factor=4',
  ],
  async run(session) {
    const { given } = session;
    const table = requireTable(given);
    const query = await readQuery(session, table, given);
    const analysis = await analyzePlan(session.client, table, query);
    return given.has('compare')
      ? compare(session, table, { query, analysis })
      : show(session, table, { query, analysis });
  },
});

interface Run {
  readonly query: QueryTableBody;
  readonly analysis: PlanAnalysis;
}

async function show(session: Session, table: TablePath, { query, analysis }: Run): Promise<number> {
  const { canvas, given } = session;
  const findings = findAdvice(analysis.plan, await readContext(session, table, query));
  const time = totalTime(analysis.plan);
  const drawn =
    drawPlanHead(analysis.plan, time, canvas) +
    drawPlan(analysis.plan, { ...canvas, hasDetails: given.has('details') }) +
    drawFindings(findings, table, canvas);
  return answer(session, { nanoseconds: time, plan: analysis.plan, findings: findings.map(findingToJson) }, drawn);
}

/** The step itself stands in the plan already. */
function findingToJson({ step, ...finding }: Finding): object {
  return { ...finding, step: step.operator };
}

async function readContext({ client }: Session, table: TablePath, query: QueryTableBody): Promise<PlanContext> {
  const { version, branch } = query;
  const state = { ...(version === undefined ? {} : { version }), ...(branch === undefined ? {} : { branch }) };
  const [described, indexes, stats] = await Promise.all([
    describeTable(client, table, state),
    listIndexes(client, table, state),
    tableStats(client, table, branch === undefined ? {} : { branch }),
  ]);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The server describes a schema in this form.
  const schema = described.schema as SchemaJson | undefined;
  return { query, indexes, stats, ...(schema === undefined ? {} : { schema }) };
}

async function compare(session: Session, table: TablePath, first: Run): Promise<number> {
  const { client, given, canvas } = session;
  const changes = given.values('compare');
  const query = await readQuery(session, table, withChanges(given, changes));
  const analysis = await analyzePlan(client, table, query);
  const comparison = comparePlans(first.analysis.plan, analysis.plan);
  const overlap = await findOverlap(session, table, [first.query, query]);
  const names = ['as given', changes.join(', ')] as const;
  const { steps: _steps, ...sums } = comparison;
  const reply = { first: first.analysis.plan, second: analysis.plan, sums, overlap };
  return answer(session, reply, drawComparison(comparison, { ...canvas, names, overlap }));
}

/** The options of the command, some of them replaced: `nprobes=20`, `no-index`. */
function withChanges(given: Given, changes: readonly string[]): Given {
  const argv = changes.map((change) => `--${change.replace(/^-+/, '')}`);
  const other = readArguments(argv, QUERY_OPTIONS);
  return {
    names: given.names,
    has: (name) => other.has(name) || given.has(name),
    value: (name) => other.value(name) ?? given.value(name),
    values: (name) => (other.has(name) ? other.values(name) : given.values(name)),
  };
}

/** Of versions and branches that differ, row ids mean different rows. */
async function findOverlap(
  { client }: Session,
  table: TablePath,
  [first, second]: readonly [QueryTableBody, QueryTableBody],
): Promise<number | undefined> {
  if (first.branch !== second.branch || (first.k ?? 0) > OVERLAP_ROWS_MAX) return undefined;
  const ids = async (query: QueryTableBody): Promise<readonly RowId[]> => {
    const rows = await queryRows(client, table, { ...query, columns: { column_names: [] }, with_row_id: true });
    return rows.map((row) => row['_rowid']).filter((id): id is number | bigint => isWhole(id));
  };
  return recallOf(await ids(first), await ids(second));
}

const OVERLAP_ROWS_MAX = 10_000;

function isWhole(value: unknown): boolean {
  return typeof value === 'number' || typeof value === 'bigint';
}
