import type { Static } from 'typebox';
import type { BatchChanges, RecordedBatch } from '../../catalog/catalog.ts';
import type { PublishedManifest } from '../../engine/engine.ts';
import { ServiceError, invalidInput } from '../../errors/service-error.ts';
import { guardTableProperties } from '../../guard/metadata.ts';
import { authorize, isPermitted, isVisible } from '../../model/access.ts';
import type { Permission } from '../../model/access.ts';
import { belowPrefix, namespaceOf, quoteForMessage, toTablePath } from '../../model/identifier.ts';
import type { TablePath } from '../../model/identifier.ts';
import { namespaceNotFound, notPermitted, tableNotFound } from '../../model/refusals.ts';
import { isManaged, locationUri } from '../../model/table.ts';
import type { TableRecord } from '../../model/table.ts';
import {
  BatchCommitBody,
  BatchCommitReply,
  BatchCreateVersionsBody,
  BatchCreateVersionsReply,
} from '../../wire/history/batches.ts';
import type { TableOperation } from '../../wire/history/batches.ts';
import type { CreateVersionBody } from '../../wire/history/versions.ts';
import type { DeclareTableBody } from '../../wire/tables.ts';
import type { BatchWrite, BatchedVersion, Fields } from '../../writes/writes.ts';
import { defineDatabaseOperation, json, toShownPath } from '../operation.ts';
import type { DatabaseRequest, Reply } from '../operation.ts';
import type { Services } from '../services.ts';
import { requireEntries } from '../shared/parameters.ts';
import { requireSuccess, toFrame } from '../shared/write-reply.ts';
import { checkDeclared } from '../tables/declared-tables.ts';
import { toVersionShape, toVersionWrite } from './managed-versions.ts';

export const batchCreateVersions = defineDatabaseOperation({
  id: 'batch_create_table_versions',
  path: '/v1/table/version/batch-create',
  summary: 'Commit staged manifests as the next versions of several tables, all or none',
  permission: 'write',
  authorizesTables: true,
  isKeyed: true,
  body: { kind: 'json', shape: BatchCreateVersionsBody },
  replies: [json(BatchCreateVersionsReply, 'The versions.')],
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
  summary: 'Declare and deregister tables and commit staged manifests, all or nothing',
  permission: 'write',
  authorizesTables: true,
  isKeyed: true,
  body: { kind: 'json', shape: BatchCommitBody },
  replies: [json(BatchCommitReply, 'What each operation has done.')],
  statuses: [409],
  async run(request, services) {
    const { operations } = request.body;
    requireEntries('operations', operations.length, { maximum: services.limits.engine.batchTablesMax });
    return runBatch(request, services, operations, (results) => ({ results }));
  },
});

type Declaration = BatchChanges['declarations'][number];

/** One operation of a batch: exactly one of its changes is set. */
interface Change {
  readonly path: TablePath;
  readonly version?: BatchedVersion & { readonly admit: () => Promise<void> };
  readonly declaration?: Declaration;
  readonly deregistered?: TableRecord;
}

type Result = Readonly<Partial<Record<keyof TableOperation, Fields>>>;

/** Of the size quotas: to be ended, whatever happened. */
type Ends = (() => Promise<void>)[];

async function runBatch(
  request: DatabaseRequest,
  services: Services,
  operations: readonly TableOperation[],
  toFields: (results: readonly Result[]) => Fields,
): Promise<Reply> {
  const ends: Ends = [];
  let changes: readonly Change[] = [];
  try {
    const result = await services.writes.runBatch(request.write, async () => {
      changes = await readChanges(request, services, operations, ends);
      return toBatch(request, changes, (published, recorded) => {
        const results = toResults(request, changes, published, recorded);
        return { ...toFields(results), transaction_id: Object.values(results[0] ?? {})[0]?.['transaction_id'] };
      });
    });
    const success = requireSuccess(result);
    for (const { deregistered } of changes) if (deregistered) services.engine.lifecycle.close(deregistered.location);
    return { kind: 'object', body: success.fields, ...toFrame(success) };
  } finally {
    for (const end of ends) await end();
  }
}

/** Everything that may refuse the batch before the tables' turn: all are found and permitted before the first is checked. */
async function readChanges(
  request: DatabaseRequest,
  services: Services,
  operations: readonly TableOperation[],
  ends: Ends,
): Promise<readonly Change[]> {
  const changes: Change[] = [];
  for (const [index, operation] of operations.entries()) {
    changes.push(await readChange(request, services, operation, { index, ends }));
  }
  requireDistinct(changes);
  for (const { version } of changes) {
    if (version === undefined) continue;
    await version.plan.check();
    await version.admit();
  }
  return changes;
}

async function readChange(
  request: DatabaseRequest,
  services: Services,
  operation: TableOperation,
  { index, ends }: { readonly index: number; readonly ends: Ends },
): Promise<Change> {
  if (Object.keys(operation).length !== 1) {
    throw invalidInput(`operations[${index}] has not exactly one member.`, 'Give one kind of operation in each.');
  }
  if (operation.create_table_version !== undefined) {
    return readVersion(request, services, operation.create_table_version, ends);
  }
  if (operation.declare_table !== undefined) return readDeclaration(request, services, operation.declare_table, ends);
  if (operation.deregister_table !== undefined) {
    const table = await requireTable(request, services, operation.deregister_table, 'manage');
    return { path: table.path, deregistered: table };
  }
  throw new ServiceError('Unsupported', 'Versions cannot be deleted in a batch.', {
    hint: 'What is deleted cannot be brought back when the batch fails. Delete them with version/delete, after the batch.',
  });
}

async function readVersion(
  request: DatabaseRequest,
  services: Services,
  body: CreateVersionBody,
  ends: Ends,
): Promise<Change> {
  const found = await requireTable(request, services, body, 'write');
  const table = await checkDeclared(found, services);
  const { plan, branch, growth } = toVersionWrite({ table, body, write: request.write }, services);
  const { caller, database } = request;
  const sized = await services.sizeQuotas.begin({ caller, database, table, arrivedAt: performance.now() }, undefined);
  if (sized !== undefined) ends.push(async () => sized.end());
  // Branches count for no quota.
  const admit = async (): Promise<void> => (branch === undefined ? sized?.admit(await growth()) : undefined);
  return { path: table.path, version: { table, branch, plan, admit } };
}

async function readDeclaration(
  request: DatabaseRequest,
  services: Services,
  body: Static<typeof DeclareTableBody>,
  ends: Ends,
): Promise<Change> {
  const { database, caller, delimiter, prefix } = request;
  const path = readPath(request, body);
  const namespace = namespaceOf(path);
  const isShown = isVisible(caller, database.name, namespace);
  if (!isShown || (await services.catalog.namespaces.find(database.id, namespace)) === undefined) {
    throw namespaceNotFound(namespace.slice(prefix.length), delimiter);
  }
  if (!isPermitted(caller, 'write', database.name, path)) throw notPermitted('write');
  if (body.location !== undefined || body.vend_credentials === true) {
    throw new ServiceError('Unsupported', 'A batch neither chooses the location of a table nor issues credentials.', {
      hint: 'Leave location and vend_credentials out, and ask for credentials with describe_table.',
    });
  }
  const { properties = {} } = body;
  guardTableProperties(properties, services.limits.metadata);
  const sized = await services.sizeQuotas.begin({ caller, database, path, arrivedAt: performance.now() }, undefined);
  if (sized !== undefined) ends.push(async () => sized.end());
  return { path, declaration: { databaseId: database.id, path, root: database.root, properties } };
}

/** Hidden and absent look the same; visible but not permitted is refused as such. */
async function requireTable(
  request: DatabaseRequest,
  { catalog }: Services,
  named: { readonly id?: string[] },
  permission: Permission,
): Promise<TableRecord> {
  const { caller, database, delimiter } = request;
  const path = readPath(request, named);
  const decision = authorize(caller, permission, { database: database.name, path, kind: 'table' });
  const table = decision === 'hidden' ? undefined : await catalog.tables.find(database.id, path);
  if (table === undefined) throw tableNotFound(toShownPath(request, path), delimiter);
  if (decision === 'forbidden') throw notPermitted(permission);
  return table;
}

function readPath({ delimiter, prefix }: DatabaseRequest, { id }: { readonly id?: string[] }): TablePath {
  if (id === undefined) throw invalidInput('An operation of the batch has no id.', 'Give the id of its table.');
  return belowPrefix(prefix, toTablePath(id, delimiter));
}

/** Each table has one state that its readers keep until the batch is committed. */
function requireDistinct(changes: readonly Change[]): void {
  const seen = new Set<string>();
  for (const { path } of changes) {
    const key = JSON.stringify(path);
    if (seen.has(key)) throw invalidInput(`The table ${quoteForMessage(path.at(-1) ?? '')} is in the batch twice.`);
    seen.add(key);
  }
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
    toFields,
  };
}

/** In the order of the operations; the batch has those of each kind in the same order. */
function toResults(
  request: DatabaseRequest,
  changes: readonly Change[],
  published: readonly PublishedManifest[],
  recorded: RecordedBatch,
): readonly Result[] {
  const [versions, commits] = [published.values(), recorded.commits.values()];
  const [declared, deregistered] = [recorded.declared.values(), recorded.deregistered.values()];
  return changes.map((change): Result => {
    if (change.version !== undefined) {
      const [version, commit] = [versions.next().value, commits.next().value];
      if (version === undefined) throw new Error('Each version of a batch is published.');
      return { create_table_version: { version: toVersionShape(version), transaction_id: commit?.transactionId } };
    }
    if (change.deregistered !== undefined) {
      const { path, location, properties } = change.deregistered;
      const gone = { id: toShownPath(request, path), location: locationUri(location), properties };
      return { deregister_table: { ...gone, transaction_id: deregistered.next().value } };
    }
    const declaration = declared.next().value;
    if (declaration === undefined) throw new Error('Each declaration of a batch is recorded.');
    const { table, transactionId } = declaration;
    const location = locationUri(table.location);
    const described = { location, storage_options: {}, properties: table.properties };
    return { declare_table: { ...described, managed_versioning: isManaged(table), transaction_id: transactionId } };
  });
}
