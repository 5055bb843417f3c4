import { createClient, createKey, listClients, listKeys, revokeClient, revokeKey } from './access/credentials.ts';
import { createDatabase, dropDatabase, listDatabases } from './access/databases.ts';
import { createGrant, deleteGrant, listGrants } from './access/grants.ts';
import { listQuotas, removeQuota, setQuota } from './access/quotas.ts';
import { describeUsage } from './access/usage.ts';
import { addColumns, alterColumns, dropColumns } from './columns/change-columns.ts';
import { updateFieldMetadata, updateSchemaMetadata } from './columns/metadata.ts';
import { deleteFromTable } from './data/delete-from-table.ts';
import {
  abortMultipartWrite,
  completeMultipartWrite,
  createMultipartWrite,
  insertIntoTable,
} from './data/insert-into-table.ts';
import { mergeInsertIntoTable } from './data/merge-insert-into-table.ts';
import { analyzePlan, explainPlan } from './data/query-plans.ts';
import { countRows, queryTable } from './data/query-table.ts';
import { updateTable } from './data/update-table.ts';
import { batchCommitTables, batchCreateVersions } from './history/batch-commit.ts';
import { createBranch, deleteBranch, listBranches } from './history/branches.ts';
import { createVersion, setManagedVersioning } from './history/managed-versions.ts';
import { createTag, deleteTag, listTags, tagVersion, updateTag } from './history/tags.ts';
import { alterTransaction, describeTransaction, listTransactions } from './history/transactions.ts';
import { deleteVersions, describeVersion, listVersions, restoreTable } from './history/versions.ts';
import { backfillColumn } from './columns/backfill-column.ts';
import { createIndex, createScalarIndex } from './indexes/create-index.ts';
import {
  describeIndexStats,
  dropIndex,
  listIndices,
  prewarmIndex,
  prewarmPageCache,
} from './indexes/existing-indexes.ts';
import { cancelJob, describeJob, listJobs } from './jobs.ts';
import { describeMaintenance, pauseMaintenance, resumeMaintenance, runMaintenance } from './maintenance.ts';
import { createNamespace, describeNamespace, dropNamespace, listNamespaces, namespaceExists } from './namespaces.ts';
import { listNodes } from './nodes.ts';
import type { Operation } from './operation.ts';
import { listSlowQueries } from './slow-queries.ts';
import { cloneTable } from './tables/clone-table.ts';
import { createNamedTable, createTable } from './tables/create-table.ts';
import { createEmptyTable, declareTable } from './tables/declared-tables.ts';
import { describeTable, tableExists, tableStats } from './tables/describe-table.ts';
import { deregisterTable, dropTable } from './tables/drop-table.ts';
import { listAllTables, listTables, listTablesOfNamespace } from './tables/list-tables.ts';
import { registerTable } from './tables/register-table.ts';
import { renameTable } from './tables/rename-table.ts';
import { UNSUPPORTED_OPERATIONS } from './unsupported.ts';
import {
  createMaterializedView,
  describeMaterializedView,
  listMaterializedViews,
  dropMaterializedView,
  refreshMaterializedView,
} from './views/views.ts';
import { WRITE_BUFFER_OPERATIONS } from './write-buffers.ts';

/** Every operation that the service offers. Routes, OpenAPI, the permission table and the docs come from this list. */
export const OPERATIONS: readonly Operation[] = [
  createTable,
  createNamedTable,
  describeTable,
  listTables,
  queryTable,
  countRows,
  explainPlan,
  listAllTables,
  tableExists,
  declareTable,
  createEmptyTable,
  registerTable,
  deregisterTable,
  renameTable,
  cloneTable,
  dropTable,
  listNamespaces,
  listTablesOfNamespace,
  createNamespace,
  describeNamespace,
  namespaceExists,
  dropNamespace,
  listTransactions,
  describeTransaction,
  alterTransaction,
  analyzePlan,
  insertIntoTable,
  createMultipartWrite,
  completeMultipartWrite,
  abortMultipartWrite,
  mergeInsertIntoTable,
  updateTable,
  deleteFromTable,
  updateFieldMetadata,
  tableStats,
  updateSchemaMetadata,
  restoreTable,
  listVersions,
  describeVersion,
  deleteVersions,
  createVersion,
  batchCreateVersions,
  batchCommitTables,
  setManagedVersioning,
  listTags,
  tagVersion,
  createTag,
  updateTag,
  deleteTag,
  listBranches,
  createBranch,
  deleteBranch,
  ...WRITE_BUFFER_OPERATIONS,
  ...UNSUPPORTED_OPERATIONS,
  addColumns,
  alterColumns,
  dropColumns,
  backfillColumn,
  createMaterializedView,
  refreshMaterializedView,
  describeMaterializedView,
  listMaterializedViews,
  dropMaterializedView,
  createIndex,
  createScalarIndex,
  listIndices,
  describeIndexStats,
  dropIndex,
  prewarmIndex,
  prewarmPageCache,
  listJobs,
  describeJob,
  cancelJob,
  describeMaintenance,
  runMaintenance,
  pauseMaintenance,
  resumeMaintenance,
  listSlowQueries,
  listNodes,
  createDatabase,
  listDatabases,
  dropDatabase,
  createKey,
  listKeys,
  revokeKey,
  createClient,
  listClients,
  revokeClient,
  createGrant,
  listGrants,
  deleteGrant,
  setQuota,
  removeQuota,
  listQuotas,
  describeUsage,
];
