import { listIndexes, describeTable, tableStats } from '../../client/tables.ts';
import { defined } from '../../client/api-client.ts';
import { analyzePlan, queryRows } from '../../client/rows.ts';
import type { PlanAnalysis } from '../../client/rows.ts';
import type { TablePath } from '../../model/identifier.ts';
import type { PlanContext } from '../../plans/advice.ts';
import { comparePlans, recallOf } from '../../plans/compare-plans.ts';
import type { RowId } from '../../plans/compare-plans.ts';
import { findAdvice } from '../../plans/find-advice.ts';
import { totalTime } from '../../plans/plan-steps.ts';
import type { QueryTableBody } from '../../wire/data.ts';
import { defineTableCommand } from '../client-command.ts';
import { readArguments } from '../options.ts';
import type { Given } from '../options.ts';
import { printResult } from '../session.ts';
import type { Session } from '../session.ts';
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
  async run(session, table) {
    const query = await readQuery(session, table, session.given);
    const analysis = await analyzePlan(session.client, table, query);
    const print = session.given.has('compare') ? printComparison : printPlan;
    return print(session, table, { query, analysis });
  },
});

interface Run {
  readonly query: QueryTableBody;
  readonly analysis: PlanAnalysis;
}

async function printPlan(session: Session, table: TablePath, { query, analysis: { plan } }: Run): Promise<number> {
  const { canvas, given } = session;
  const findings = findAdvice(plan, await readContext(session, table, query));
  const time = totalTime(plan);
  const drawn = drawPlan(plan, time, { ...canvas, hasDetails: given.has('details') });
  // The step itself is in the plan already.
  const named = findings.map(({ step, ...finding }) => ({ ...finding, step: step.operator }));
  const reply = { nanoseconds: time, plan, findings: named };
  return printResult(session, reply, drawn + drawFindings(findings, table, canvas));
}

async function readContext({ client }: Session, table: TablePath, query: QueryTableBody): Promise<PlanContext> {
  const { version, branch } = query;
  const state = defined({ version, branch });
  const [{ schema }, indexes, stats] = await Promise.all([
    describeTable(client, table, state),
    listIndexes(client, table, state),
    tableStats(client, table, defined({ branch })),
  ]);
  return { query, indexes, stats, ...defined({ schema }) };
}

async function printComparison(session: Session, table: TablePath, first: Run): Promise<number> {
  const { client, given, canvas } = session;
  const changes = given.values('compare');
  const query = await readQuery(session, table, withChanges(given, changes));
  const { plan } = await analyzePlan(client, table, query);
  const comparison = comparePlans(first.analysis.plan, plan);
  const overlap = await findOverlap(session, table, [first.query, query]);
  const { steps: _steps, ...sums } = comparison;
  const reply = { first: first.analysis.plan, second: plan, sums, overlap };
  const names = ['as given', changes.join(', ')] as const;
  return printResult(session, reply, drawComparison(comparison, { ...canvas, names, overlap }));
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
async function findOverlap(
  { client }: Session,
  table: TablePath,
  [first, second]: readonly [QueryTableBody, QueryTableBody],
): Promise<number | undefined> {
  if (first.branch !== second.branch || (first.k ?? 0) > OVERLAP_ROWS_MAX) return undefined;
  const ids = async (query: QueryTableBody): Promise<readonly RowId[]> => {
    const rows = await queryRows(client, table, { ...query, columns: { column_names: [] }, with_row_id: true });
    return rows.map((row) => row['_rowid']).filter((id) => typeof id === 'number' || typeof id === 'bigint');
  };
  return recallOf(await ids(first), await ids(second));
}
