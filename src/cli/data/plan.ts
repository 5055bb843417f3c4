import { listIndexes, describeTable, tableStats } from '../../client/tables.ts';
import { defined } from '../../client/api-client.ts';
import { analyzePlan, queryRows } from '../../client/rows.ts';
import type { PlanStep } from '../../model/query.ts';
import type { PlanContext } from '../../plans/advice.ts';
import { comparePlans, recallOf } from '../../plans/compare-plans.ts';
import type { RowId } from '../../plans/compare-plans.ts';
import { findAdvice } from '../../plans/find-advice.ts';
import { totalTime } from '../../plans/plan-steps.ts';
import type { QueryTableBody } from '../../wire/data.ts';
import { defineTableCommand } from '../client-command.ts';
import { readArguments } from '../options.ts';
import type { Given } from '../options.ts';
import type { Result, TableSession } from '../session.ts';
import { drawComparison, drawFindings, drawPlan } from './draw-plan.ts';
import { QUERY_OPTIONS, readQuery } from './query.ts';

export const planCommand = defineTableCommand({
  words: ['plan'],
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
    const query = await readQuery(session);
    const { plan } = await analyzePlan(session.client, session.table, query);
    return session.given.has('compare') ? compare(session, query, plan) : advise(session, query, plan);
  },
});

async function advise(session: TableSession, query: QueryTableBody, plan: PlanStep): Promise<Result> {
  const { table, canvas, given } = session;
  const findings = findAdvice(plan, await readContext(session, query));
  const drawn = drawPlan(plan, canvas, given.has('details'));
  // The step itself is in the plan already.
  const named = findings.map(({ step, ...finding }) => ({ ...finding, step: step.operator }));
  const reply = { nanoseconds: totalTime(plan), plan, findings: named };
  return { reply, text: drawn + drawFindings(findings, table, canvas) };
}

async function readContext({ client, table }: TableSession, query: QueryTableBody): Promise<PlanContext> {
  const { version, branch } = query;
  const state = defined({ version, branch });
  const [{ schema }, indexes, stats] = await Promise.all([
    describeTable(client, table, state),
    listIndexes(client, table, state),
    tableStats(client, table, defined({ branch })),
  ]);
  return { query, indexes, stats, ...defined({ schema }) };
}

async function compare(session: TableSession, query: QueryTableBody, plan: PlanStep): Promise<Result> {
  const { client, table, given, canvas } = session;
  const changes = given.values('compare');
  const changed = await readQuery({ ...session, given: withChanges(given, changes) });
  const second = (await analyzePlan(client, table, changed)).plan;
  const comparison = comparePlans(plan, second);
  const overlap = await findOverlap(session, query, changed);
  const { steps: _steps, ...sums } = comparison;
  const names = ['as given', changes.join(', ')] as const;
  const text = drawComparison(comparison, { ...canvas, names, overlap });
  return { reply: { first: plan, second, sums, overlap }, text };
}

/** The options of the command, some of them changed: `nprobes=20`, `no-index`. */
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

const OVERLAP_ROWS_MAX = 10_000;

/** `undefined` for different branches: there, row ids mean different rows. */
async function findOverlap({ client, table }: TableSession, first: QueryTableBody, second: QueryTableBody) {
  if (first.branch !== second.branch || (first.k ?? 0) > OVERLAP_ROWS_MAX) return undefined;
  const ids = async (query: QueryTableBody): Promise<readonly RowId[]> => {
    const rows = await queryRows(client, table, { ...query, columns: { column_names: [] }, with_row_id: true });
    return rows.map((row) => row['_rowid']).filter((id) => typeof id === 'number' || typeof id === 'bigint');
  };
  return recallOf(await ids(first), await ids(second));
}
