import { defined } from '../../../src/client/api-client.ts';
import type { ApiClient } from '../../../src/client/api-client.ts';
import type { JsonRow } from '../../../src/client/rows.ts';
import { analyzePlan, queryRows } from '../../../src/client/rows.ts';
import { describeTable, listIndexes, tableStats } from '../../../src/client/tables.ts';
import type { TablePath } from '../../../src/model/identifier.ts';
import type { PlanStep } from '../../../src/model/query.ts';
import { findAdvice } from '../../../src/plans/find-advice.ts';
import type { Finding } from '../../../src/plans/advice.ts';
import { readPlan } from '../../../src/plans/plan-steps.ts';
import { recallOf } from '../../../src/plans/compare-plans.ts';
import type { RowId } from '../../../src/plans/compare-plans.ts';
import type { QueryTableBody } from '../../../src/wire/data.ts';
import type { TableStatsReply } from '../../../src/wire/tables.ts';
import type { LabForm } from './form/lab-form.ts';
import {
  FormError,
  hasManyVectors,
  hasText,
  hasVector,
  toQueryBody,
  describeForm,
  toExactBody,
  toRivalForm,
} from './form/query-body.ts';
import { toSchema } from './table-facts.ts';
import type { TableFacts } from './table-facts.ts';

const MEASURED_ROWS_MAX = 1_000_000;

export interface Rows {
  readonly kind: 'results';
  readonly rows: readonly JsonRow[];
  readonly milliseconds: number;
}

export interface Run {
  readonly title: string;
  readonly plan: PlanStep;
  readonly text: string;
  /** For vector searches through an index. */
  readonly recall: number | undefined;
  readonly findings: readonly Finding[];
}

interface OnePlan {
  readonly kind: 'plan';
  readonly run: Run;
}

interface TwoPlans {
  readonly kind: 'compare';
  readonly first: Run;
  readonly second: Run;
}

/** The map loads its rows itself. */
interface OneMap {
  readonly kind: 'map';
}

export type Outcome = Rows | OnePlan | TwoPlans | OneMap;

export interface Lab {
  readonly client: ApiClient;
  readonly table: TablePath;
  readonly facts: TableFacts;
}

export interface LabQuery {
  readonly lab: Lab;
  readonly form: LabForm;
}

export async function runLab(lab: Lab, form: LabForm): Promise<Outcome> {
  switch (form.tab) {
    case 'results': {
      const body = await toQueryBody(lab.client, lab.table, form, lab.facts);
      const started = performance.now();
      const rows = await queryRows(lab.client, lab.table, body);
      return { kind: 'results', rows, milliseconds: performance.now() - started };
    }
    case 'plan':
      return { kind: 'plan', run: await analyze(lab, form) };
    case 'compare':
      return compare(lab, form);
    case 'map':
      return { kind: 'map' };
  }
}

/** Runs each query once before measuring, so that both find warm caches. */
async function compare(lab: Lab, form: LabForm): Promise<TwoPlans> {
  const rival = toRivalForm(form);
  await analyze(lab, form);
  await analyze(lab, rival);
  return { kind: 'compare', first: await analyze(lab, form), second: await analyze(lab, rival) };
}

async function analyze(lab: Lab, form: LabForm): Promise<Run> {
  const { client, table, facts } = lab;
  const body = await toQueryBody(client, table, form, facts);
  const { plan: given, text } = await analyzePlan(client, table, body);
  const plan = readPlan(given);
  if (plan === undefined)
    throw new FormError('The server returned no plan.', 'Reload the page: the console may be older than the server.');
  const context = await readContext(lab, body);
  const recall = isMeasured(form, context.stats) && !hasManyVectors(body) ? await measureRecall(lab, body) : undefined;
  const findings = findAdvice(plan, recall === undefined ? context : { ...context, recall });
  return { title: describeForm(form), plan, text, recall, findings };
}

/** For the branch and version of the query; the facts of the lab are those of the latest version of main. */
async function readContext({ client, table, facts }: Lab, query: QueryTableBody) {
  const { branch, version } = query;
  const { schema, indexes, stats } = facts;
  if (branch === undefined && version === undefined) return { query, schema, indexes, stats };
  const state = defined({ branch, version });
  const [described, ownIndexes, ownStats] = await Promise.all([
    describeTable(client, table, state),
    listIndexes(client, table, state),
    tableStats(client, table, defined({ branch })),
  ]);
  return { query, schema: toSchema(described.schema), indexes: ownIndexes, stats: ownStats };
}

/** An exact search of a large table runs only in an explicit comparison. */
function isMeasured(form: LabForm, stats: TableStatsReply): boolean {
  if (!hasVector(form) || hasText(form)) return false;
  return form.tab === 'compare' || stats.num_rows <= MEASURED_ROWS_MAX;
}

async function measureRecall(lab: Lab, body: QueryTableBody): Promise<number | undefined> {
  const found = await rowIds(lab, body);
  const exact = body.bypass_vector_index === true ? found : await rowIds(lab, toExactBody(body));
  return recallOf(found, exact);
}

async function rowIds({ client, table }: Lab, body: QueryTableBody): Promise<readonly RowId[]> {
  const rows = await queryRows(client, table, {
    ...body,
    columns: { column_names: [] },
    with_row_id: true,
  });
  const ids = rows.map((row) => row['_rowid']);
  return ids.filter((id) => typeof id === 'number' || typeof id === 'bigint');
}
