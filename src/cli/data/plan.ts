import { listIndexes, describeTable, tableStats } from '../../client/tables.ts';
import { defined } from '../../client/api-client.ts';
import { analyzePlan, queryRows } from '../../client/rows.ts';
import type { PlanStep } from '../../model/query.ts';
import type { PlanContext } from '../../plans/advice.ts';
import { comparePlans, recallOf } from '../../plans/compare-plans.ts';
import type { RowId } from '../../plans/compare-plans.ts';
import { findAdvice } from '../../plans/find-advice.ts';
import { findBelow, totalTime } from '../../plans/plan-steps.ts';
import type { QueryTableBody } from '../../wire/data.ts';
import { defineTableCommand } from '../client-command.ts';
import { readArguments } from '../options.ts';
import type { Given } from '../options.ts';
import type { Result, TableSession } from '../session.ts';
import { drawComparison, drawFindings, drawPlan, drawRecall } from './draw-plan.ts';
import { QUERY_OPTIONS, readQuery } from './query.ts';

export const planCommand = defineTableCommand({
  words: ['plan'],
  summary: 'run a query and show what each step costs',
  about: `Runs a query and shows its steps as a tree with time, rows and bytes read, followed by advice.
--compare runs the query a second time with other options, written without dashes, and shows both side by side.`,
  options: [
    ...QUERY_OPTIONS,
    {
      name: 'compare',
      value: 'OPTION',
      repeats: true,
      help: 'option of the second query, such as no-index or nprobes=20; may be repeated',
    },
    { name: 'details', help: 'show the details of each step' },
  ],
  examples: [
    'plan orders --where "price > 100"',
    "plan pictures --like 'id = 42' --compare no-index",
    'plan pictures --vector @cat.json --nprobes 5 --compare nprobes=50 --compare refine-factor=4',
  ],
  async run(session) {
    const query = await readQuery(session);
    const { plan } = await analyzePlan(session.client, session.table, query);
    return session.given.has('compare') ? compare(session, query, plan) : advise(session, query, plan);
  },
});

async function advise(session: TableSession, query: QueryTableBody, plan: PlanStep): Promise<Result> {
  const { canvas, given } = session;
  const context = await readContext(session, query);
  const recall = usesVectorIndex(plan) ? await measureRecall(session, context) : undefined;
  const { named, text } = describeAdvice(session, plan, { ...context, ...defined({ recall }) });
  const drawn = drawPlan(plan, canvas, given.has('details'));
  const reply = { nanoseconds: totalTime(plan), plan, findings: named, ...defined({ recall }) };
  return { reply, text: drawn + drawRecall(recall, canvas) + text };
}

function describeAdvice({ table, canvas }: TableSession, plan: PlanStep, context: PlanContext) {
  const findings = findAdvice(plan, context);
  // The step itself is already in the plan.
  const named = findings.map(({ step, ...finding }) => ({ ...finding, step: step.operator }));
  return { named, text: drawFindings(findings, table, canvas) };
}

function usesVectorIndex(plan: PlanStep): boolean {
  return findBelow(plan, 'ANNSubIndex') !== undefined;
}

/** Above this many rows, an exact search takes too long just for an extra figure. */
const EXACT_ROWS_MAX = 1_000_000;

/** The share of an exact search's rows that the query finds. */
async function measureRecall(session: TableSession, { query, stats }: PlanContext): Promise<number | undefined> {
  if ((stats?.num_rows ?? Infinity) > EXACT_ROWS_MAX) return undefined;
  return findOverlap(session, query, { ...query, bypass_vector_index: true });
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
  // Compared with an exact search, the overlap is the recall.
  if (changed.bypass_vector_index === true && usesVectorIndex(plan)) {
    const context = { ...(await readContext(session, query)), ...defined({ recall: overlap }) };
    const advice = describeAdvice(session, plan, context);
    return { reply: { first: plan, second, sums, overlap, findings: advice.named }, text: text + advice.text };
  }
  return { reply: { first: plan, second, sums, overlap }, text };
}

/** The options of the command with changes such as `nprobes=20`, `no-index`. */
function withChanges(given: Given, changes: readonly string[]): Given {
  const argv = changes.map((change) => `--${change.replace(/^-+/, '')}`);
  const other = readArguments(argv, QUERY_OPTIONS);
  return {
    names: given.names,
    words: [...given.words, ...other.words],
    has: (name) => other.has(name) || given.has(name),
    value: (name) => other.value(name) ?? given.value(name),
    values: (name) => (other.has(name) ? other.values(name) : given.values(name)),
  };
}

const OVERLAP_ROWS_MAX = 10_000;

/** `undefined` for different branches, in which row ids mean different rows. */
async function findOverlap({ client, table }: TableSession, first: QueryTableBody, second: QueryTableBody) {
  if (first.branch !== second.branch || (first.k ?? 0) > OVERLAP_ROWS_MAX) return undefined;
  const ids = async (query: QueryTableBody): Promise<readonly RowId[]> => {
    const rows = await queryRows(client, table, { ...query, columns: { column_names: [] }, with_row_id: true });
    return rows.map((row) => row['_rowid']).filter((id) => typeof id === 'number' || typeof id === 'bigint');
  };
  return recallOf(await ids(first), await ids(second));
}
