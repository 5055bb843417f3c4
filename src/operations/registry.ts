import { createBranch, deleteBranch } from './branches/change-branch.ts';
import { listBranches } from './branches/list-branches.ts';
import { addColumns } from './columns/add-columns.ts';
import { alterColumns } from './columns/alter-columns.ts';
import { dropColumns } from './columns/drop-columns.ts';
import { createClient, listClients, revokeClient } from './access/clients.ts';
import { createDatabase, dropDatabase, listDatabases } from './access/databases.ts';
import { createGrant, deleteGrant, listGrants } from './access/grants.ts';
import { createKey, listKeys, revokeKey } from './access/keys.ts';
import { updateFieldMetadata } from './columns/update-field-metadata.ts';
import { analyzePlan } from './data/analyze-plan.ts';
import { countRows } from './data/count-rows.ts';
import { explainPlan } from './data/explain-plan.ts';
import { queryTable } from './data/query-table.ts';
import { deleteFromTable } from './data/delete-from-table.ts';
import { insertIntoTable } from './data/insert-into-table.ts';
import { mergeInsertIntoTable } from './data/merge-insert-into-table.ts';
import { abortMultipartWrite, completeMultipartWrite, createMultipartWrite } from './data/multipart-write.ts';
import { updateTable } from './data/update-table.ts';
import { createIndex, createScalarIndex } from './indexes/create-index.ts';
import { describeIndexStats } from './indexes/describe-index-stats.ts';
import { dropIndex } from './indexes/drop-index.ts';
import { listIndices } from './indexes/list-indices.ts';
import { prewarmIndex, prewarmPageCache } from './indexes/prewarm.ts';
import { cancelJob } from './jobs/cancel-job.ts';
import { describeJob } from './jobs/describe-job.ts';
import { listJobs } from './jobs/list-jobs.ts';
import { describeMaintenance } from './maintenance/describe-maintenance.ts';
import { pauseMaintenance, resumeMaintenance } from './maintenance/pause-maintenance.ts';
import { runMaintenance } from './maintenance/run-maintenance.ts';
import type { Operation } from './operation.ts';
import { createNamespace } from './namespaces/create-namespace.ts';
import { describeNamespace, namespaceExists } from './namespaces/describe-namespace.ts';
import { dropNamespace } from './namespaces/drop-namespace.ts';
import { listNamespaces } from './namespaces/list-namespaces.ts';
import { cloneTable } from './tables/clone-table.ts';
import { createNamedTable, createTable } from './tables/create-table.ts';
import { describeTable } from './tables/describe-table.ts';
import { restoreTable } from './tables/restore-table.ts';
import { tableStats } from './tables/table-stats.ts';
import { updateSchemaMetadata } from './tables/update-schema-metadata.ts';
import { createTag, deleteTag, updateTag } from './tags/change-tag.ts';
import { listTags } from './tags/list-tags.ts';
import { tagVersion } from './tags/tag-version.ts';
import { UNSUPPORTED_OPERATIONS } from './unsupported.ts';
import { deleteVersions } from './versions/delete-versions.ts';
import { describeVersion } from './versions/describe-version.ts';
import { listVersions } from './versions/list-versions.ts';
import { listSlowQueries } from './slow-queries/list-slow-queries.ts';
import { declareTable } from './tables/declare-table.ts';
import { deregisterTable, dropTable } from './tables/drop-table.ts';
import { listAllTables, listTables } from './tables/list-tables.ts';
import { listTablesOfNamespace } from './tables/list-tables-of-namespace.ts';
import { registerTable } from './tables/register-table.ts';
import { renameTable } from './tables/rename-table.ts';
import { tableExists } from './tables/table-exists.ts';
import { alterTransaction, describeTransaction } from './transactions/describe-transaction.ts';
import { listTransactions } from './transactions/list-transactions.ts';

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
  listTags,
  tagVersion,
  createTag,
  updateTag,
  deleteTag,
  listBranches,
  createBranch,
  deleteBranch,
  ...UNSUPPORTED_OPERATIONS,
  addColumns,
  alterColumns,
  dropColumns,
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
];
