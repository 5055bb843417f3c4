import { listDatabases } from '../operations/access/databases.ts';
import { describeUsage } from '../operations/access/usage.ts';
import { deleteFromTable } from '../operations/data/delete-from-table.ts';
import { analyzePlan, explainPlan } from '../operations/data/query-plans.ts';
import { countRows } from '../operations/data/query-table.ts';
import { updateTable } from '../operations/data/update-table.ts';
import { diffTable } from '../operations/history/diff-table.ts';
import { createTag, deleteTag, listTags } from '../operations/history/tags.ts';
import { describeTransaction, listTransactions } from '../operations/history/transactions.ts';
import { describeVersion, listVersions, restoreTable } from '../operations/history/versions.ts';
import { createIndex } from '../operations/indexes/create-index.ts';
import { describeIndexStats, dropIndex, listIndices } from '../operations/indexes/existing-indexes.ts';
import { describeJob, listJobs } from '../operations/jobs.ts';
import { createNamespace, listNamespaces } from '../operations/namespaces.ts';
import { describeTable, tableStats } from '../operations/tables/describe-table.ts';
import { listTablesOfNamespace } from '../operations/tables/list-tables.ts';
import { operationTool } from './operation-tool.ts';
import { queryTool, similarRowsTool } from './query-tools.ts';
import { insertRowsTool, mergeRowsTool } from './row-tools.ts';
import type { Tool } from './tool.ts';

const PLAN_ADVICE = 'The plan shows which indexes are used.';

/** What programs may do through `/mcp`: no credentials and grants, and no dropping of tables and databases. */
export const TOOLS: readonly Tool[] = [
  operationTool(listDatabases),
  operationTool(listNamespaces),
  operationTool(listTablesOfNamespace, {
    advice: 'Names are relative to the namespace: join both with $ to identify a table.',
  }),
  // Credentials must not get into a model's context.
  operationTool(describeTable, { without: ['vend_credentials', 'with_table_uri', 'check_declared'] }),
  operationTool(tableStats),
  queryTool,
  similarRowsTool,
  operationTool(countRows),
  operationTool(explainPlan, { advice: PLAN_ADVICE }),
  operationTool(analyzePlan, { advice: PLAN_ADVICE }),
  operationTool(listIndices),
  operationTool(describeIndexStats),
  operationTool(listVersions),
  operationTool(describeVersion),
  operationTool(diffTable),
  operationTool(listTags),
  operationTool(listTransactions),
  operationTool(describeTransaction),
  operationTool(listJobs),
  operationTool(describeJob),
  operationTool(describeUsage),
  insertRowsTool,
  mergeRowsTool,
  operationTool(updateTable, {
    isDestructive: true,
    advice: 'Without a predicate, all rows are updated. Undo it with restore_table.',
  }),
  operationTool(deleteFromTable, { isDestructive: true, advice: 'Undo it with restore_table.' }),
  // `overwrite` would drop all tables inside.
  operationTool(createNamespace, { without: ['mode'] }),
  operationTool(createIndex, { advice: 'A long build continues as a job: check it with describe_job.' }),
  operationTool(dropIndex, { isDestructive: true }),
  operationTool(createTag),
  operationTool(deleteTag, { isDestructive: true }),
  operationTool(restoreTable, { isDestructive: true, advice: 'This creates a new version; no version is lost.' }),
];
