import type { RecordedBatch } from '../../catalog/catalog.ts';
import type { PublishedManifest } from '../../engine/engine.ts';
import { isManaged, locationUri } from '../../model/table.ts';
import {
  BatchCommitBody,
  BatchCommitReply,
  BatchCreateVersionsBody,
  BatchCreateVersionsReply,
} from '../../wire/history/batches.ts';
import type { TableOperation } from '../../wire/history/batches.ts';
import type { BatchWrite, Fields } from '../../writes/writes.ts';
import { defineDatabaseOperation, json, toShownPath } from '../operation.ts';
import type { DatabaseRequest, Reply } from '../operation.ts';
import type { Services } from '../services.ts';
import { requireEntries } from '../shared/parameters.ts';
import { orReport } from '../shared/record-commit.ts';
import { requireSuccess, toFrame } from '../shared/write-reply.ts';
import { isOnlyDeclared } from '../tables/declared-tables.ts';
import { vendCredentials } from '../tables/vend-credentials.ts';
import { BatchReader, readPath } from './batch-changes.ts';
import type { Change } from './batch-changes.ts';
import { toVersionShape } from './managed-versions.ts';

export const batchCreateVersions = defineDatabaseOperation({
  id: 'batch_create_table_versions',
  path: '/v1/table/version/batch-create',
  summary: 'Commit staged manifests to several tables atomically',
  permission: 'write',
  authorizesTables: true,
  isKeyed: true,
  body: { kind: 'json', shape: BatchCreateVersionsBody },
  replies: [json(BatchCreateVersionsReply, 'The committed versions.')],
  statuses: [409],
  async run(request, services) {
    const { entries } = request.body;
    requireEntries('entries', entries.length, { maximum: services.limits.engine.batchTablesMax });
    const operations = entries.map((entry) => ({ create_table_version: entry }));
    return runBatch(request, services, operations, (results) => ({
      versions: results.map(({ create_table_version: created }) => created?.['version']),
    }));
  },
});

export const batchCommitTables = defineDatabaseOperation({
  id: 'batch_commit_tables',
  path: '/v1/table/batch-commit',
  summary: 'Declare and deregister tables, commit staged manifests and delete versions atomically',
  permission: 'write',
  authorizesTables: true,
  isKeyed: true,
  body: { kind: 'json', shape: BatchCommitBody },
  replies: [json(BatchCommitReply, 'The result of each operation.')],
  statuses: [409],
  async run(request, services) {
    const { operations } = request.body;
    requireEntries('operations', operations.length, { maximum: services.limits.engine.batchTablesMax });
    return runBatch(request, services, operations, (results) => ({ results }));
  },
});

type Result = Readonly<Partial<Record<keyof TableOperation, Fields>>>;

async function runBatch(
  request: DatabaseRequest,
  services: Services,
  operations: readonly TableOperation[],
  toFields: (results: readonly Result[]) => Fields,
): Promise<Reply> {
  const reader = new BatchReader(request, services);
  let changes: readonly Change[] = [];
  try {
    const result = await services.writes.runBatch(request.write, async () => {
      changes = await reader.read(operations);
      return toBatch(request, changes, (published, recorded) => {
        const results = toResults(request, changes, published, recorded);
        return { ...toFields(results), transaction_id: Object.values(results[0] ?? {})[0]?.['transaction_id'] };
      });
    });
    const success = requireSuccess(result);
    for (const { deregistered } of changes) if (deregistered) services.engine.lifecycle.close(deregistered.location);
    const body = await withCredentials(request, services, operations, success.fields);
    return { kind: 'object', body, ...toFrame(success) };
  } finally {
    await reader.end();
  }
}

/**
 * Not part of what is stored for replays, which check nothing: caller and table may have changed since. The batch is
 * already committed: if there are no credentials, `describe_table` provides them.
 */
async function withCredentials(
  request: DatabaseRequest,
  services: Services,
  operations: readonly TableOperation[],
  fields: Fields,
): Promise<Fields> {
  const results = fields['results'];
  if (!Array.isArray(results) || services.vending === undefined) return fields;
  const vended = results.map(async (result: Result, index): Promise<Result> => {
    const [body, declared] = [operations[index]?.declare_table, result.declare_table];
    if (body === undefined || declared === undefined) return result;
    const storage_options = await orReport('credentials for a declared table', services, async () => {
      const table = await services.catalog.tables.find(request.database.id, readPath(request, body));
      if (table === undefined || locationUri(table.location) !== declared['location']) return {};
      const isEmpty = await isOnlyDeclared(table, services);
      return vendCredentials({ ...request, body }, { table, isEmpty }, services);
    });
    return { declare_table: { ...declared, storage_options: storage_options ?? {} } };
  });
  return { ...fields, results: await Promise.all(vended) };
}

function toBatch(
  { database, write }: DatabaseRequest,
  changes: readonly Change[],
  toFields: BatchWrite['toFields'],
): BatchWrite {
  return {
    request: write,
    databaseId: database.id,
    versions: changes.flatMap(({ version }) => version ?? []),
    declarations: changes.flatMap(({ declaration }) => declaration ?? []),
    deregistrations: changes.flatMap(({ deregistered }) => deregistered ?? []),
    deletions: changes.flatMap(({ deletion }) => deletion ?? []),
    toFields,
  };
}

/** In the order of the operations; the batch has the changes of each kind in the same order. */
function toResults(
  request: DatabaseRequest,
  changes: readonly Change[],
  published: readonly PublishedManifest[],
  recorded: RecordedBatch,
): readonly Result[] {
  const [versions, commits] = [published.values(), recorded.commits.values()];
  const [declared, deregistered] = [recorded.declared.values(), recorded.deregistered.values()];
  const deleted = recorded.deleted.values();
  return changes.map((change): Result => {
    if (change.version !== undefined) {
      const [version, commit] = [versions.next().value, commits.next().value];
      if (version === undefined) throw new Error('Each version of a batch is published.');
      const created = { ...toVersionShape(version), metadata: change.version.metadata };
      return { create_table_version: { version: created, transaction_id: commit?.transactionId } };
    }
    if (change.deregistered !== undefined) {
      const { path, location, properties } = change.deregistered;
      const gone = { id: toShownPath(request, path), location: locationUri(location), properties };
      return { deregister_table: { ...gone, transaction_id: deregistered.next().value } };
    }
    if (change.deletion !== undefined) {
      const { count, transactionId } = deleted.next().value ?? { count: 0, transactionId: undefined };
      return { delete_table_versions: { deleted_count: count, transaction_id: transactionId } };
    }
    const declaration = declared.next().value;
    if (declaration === undefined) throw new Error('Each declaration of a batch is recorded.');
    const { table, transactionId } = declaration;
    const location = locationUri(table.location);
    const described = { location, storage_options: {}, properties: table.properties };
    return { declare_table: { ...described, managed_versioning: isManaged(table), transaction_id: transactionId } };
  });
}
