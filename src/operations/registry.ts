import { createClient, createKey, listClients, listKeys, revokeClient, revokeKey } from './access/credentials.ts';
import { createDatabase, dropDatabase, listDatabases } from './access/databases.ts';
import { createGrant, deleteGrant, listGrants } from './access/grants.ts';
import { listQuotas, removeQuota, setQuota } from './access/quotas.ts';
import { listSigningKeys, rotateSigningKey } from './access/signing-keys.ts';
import { describeUsage } from './access/usage.ts';
import { whoami } from './access/whoami.ts';
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
import { diffTable } from './history/diff-table.ts';
import { createTag, deleteTag, listTags, tagVersion, updateTag } from './history/tags.ts';
import { followEvents } from './events/follow-events.ts';
import {
  createWebhook,
  deleteWebhook,
  describeWebhook,
  disableWebhook,
  listWebhooks,
  resumeWebhook,
  testWebhook,
  updateWebhook,
} from './events/webhooks.ts';
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
import { describeEmbeddings } from './embeddings/describe-embeddings.ts';
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
import { UNSUPPORTED_OPERATIONS, WRITE_BUFFER_OPERATIONS } from './unsupported.ts';
import {
  createMaterializedView,
  describeMaterializedView,
  listMaterializedViews,
  dropMaterializedView,
  refreshMaterializedView,
} from './views/views.ts';

interface OperationGroup {
  readonly title: string;
  readonly operations: readonly Operation[];
}

/** Every operation of the service. Routes, OpenAPI, the permission table and the docs are generated from this list. */
export const OPERATION_GROUPS: readonly OperationGroup[] = [
  {
    title: 'Tables',
    operations: [
      createTable,
      createNamedTable,
      listTables,
      listAllTables,
      listTablesOfNamespace,
      describeTable,
      tableExists,
      tableStats,
      renameTable,
      cloneTable,
      dropTable,
      declareTable,
      createEmptyTable,
      registerTable,
      deregisterTable,
    ],
  },
  {
    title: 'Queries',
    operations: [queryTable, countRows, explainPlan, analyzePlan, describeEmbeddings],
  },
  {
    title: 'Writes',
    operations: [
      insertIntoTable,
      mergeInsertIntoTable,
      updateTable,
      deleteFromTable,
      createMultipartWrite,
      completeMultipartWrite,
      abortMultipartWrite,
    ],
  },
  {
    title: 'Columns',
    operations: [addColumns, alterColumns, dropColumns, backfillColumn, updateFieldMetadata, updateSchemaMetadata],
  },
  {
    title: 'Indexes',
    operations: [
      createIndex,
      createScalarIndex,
      listIndices,
      describeIndexStats,
      dropIndex,
      prewarmIndex,
      prewarmPageCache,
    ],
  },
  {
    title: 'Versions, tags and branches',
    operations: [
      listVersions,
      describeVersion,
      restoreTable,
      deleteVersions,
      diffTable,
      listTags,
      tagVersion,
      createTag,
      updateTag,
      deleteTag,
      listBranches,
      createBranch,
      deleteBranch,
    ],
  },
  {
    title: 'Materialized views',
    operations: [
      createMaterializedView,
      refreshMaterializedView,
      describeMaterializedView,
      listMaterializedViews,
      dropMaterializedView,
    ],
  },
  {
    title: 'External writers',
    operations: [setManagedVersioning, createVersion, batchCreateVersions, batchCommitTables],
  },
  {
    title: 'Namespaces',
    operations: [listNamespaces, createNamespace, describeNamespace, namespaceExists, dropNamespace],
  },
  {
    title: 'Transactions and jobs',
    operations: [listTransactions, describeTransaction, alterTransaction, listJobs, describeJob, cancelJob],
  },
  {
    title: 'Events and webhooks',
    operations: [
      followEvents,
      createWebhook,
      listWebhooks,
      describeWebhook,
      updateWebhook,
      testWebhook,
      disableWebhook,
      resumeWebhook,
      deleteWebhook,
    ],
  },
  {
    title: 'Maintenance and operation',
    operations: [
      describeMaintenance,
      runMaintenance,
      pauseMaintenance,
      resumeMaintenance,
      listSlowQueries,
      listNodes,
      ...WRITE_BUFFER_OPERATIONS,
    ],
  },
  {
    title: 'Access',
    operations: [
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
      rotateSigningKey,
      listSigningKeys,
      whoami,
    ],
  },
  {
    title: 'Not offered',
    operations: [...UNSUPPORTED_OPERATIONS],
  },
];

export const OPERATIONS: readonly Operation[] = OPERATION_GROUPS.flatMap(({ operations }) => operations);
