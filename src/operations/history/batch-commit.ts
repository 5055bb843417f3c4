import type { Static } from 'typebox';
import type { BatchChanges, RecordedBatch } from '../../catalog/catalog.ts';
import type { PublishedManifest } from '../../engine/engine.ts';
import { invalidInput } from '../../errors/service-error.ts';
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
import type { CreateVersionBody, DeleteVersionsBody } from '../../wire/history/versions.ts';
import type { DeclareTableBody } from '../../wire/tables.ts';
import type { BatchWrite, BatchedDeletion, BatchedVersion, Fields } from '../../writes/writes.ts';
import { defineDatabaseOperation, json, toShownPath } from '../operation.ts';
import type { DatabaseRequest, Reply } from '../operation.ts';
import type { Services } from '../services.ts';
import { requireEntries } from '../shared/parameters.ts';
import { orReport } from '../shared/record-commit.ts';
import { readBranch } from '../shared/table-state.ts';
import { requireSuccess, toFrame } from '../shared/write-reply.ts';
import { checkDeclared, isOnlyDeclared } from '../tables/declared-tables.ts';
import { readNewLocation } from '../tables/given-location.ts';
import { vendCredentials, wantsCredentials } from '../tables/vend-credentials.ts';
import { toVersionShape, toVersionWrite } from './managed-versions.ts';
import { readRanges } from './versions.ts';

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

type Declaration = BatchChanges['declarations'][number];

/** One operation of a batch: exactly one of its changes is set. */
interface Change {
  readonly path: TablePath;
  readonly version?: BatchedVersion & {
    readonly metadata: CreateVersionBody['metadata'] | undefined;
    readonly admit: () => Promise<void>;
  };
  readonly declaration?: Declaration;
  readonly deregistered?: TableRecord;
  readonly deletion?: BatchedDeletion;
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
    const body = await withCredentials(request, services, operations, success.fields);
    return { kind: 'object', body, ...toFrame(success) };
  } finally {
    for (const end of ends) await end();
  }
}

/**
 * Beside what is kept for replays, which check nothing: caller and table may have changed since. The batch is committed:
 * without credentials, `describe_table` gives them.
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
    throw invalidInput(`operations[${index}] must have exactly one member.`, 'Give one kind of operation per entry.');
  }
  if (operation.create_table_version !== undefined) {
    return readVersion(request, services, operation.create_table_version, ends);
  }
  if (operation.declare_table !== undefined) return readDeclaration(request, services, operation.declare_table, ends);
  if (operation.deregister_table !== undefined) {
    const table = await requireTable(request, services, operation.deregister_table, 'manage');
    return { path: table.path, deregistered: table };
  }
  return readDeletion(request, services, operation.delete_table_versions ?? { ranges: [] });
}

async function readVersion(
  request: DatabaseRequest,
  services: Services,
  body: CreateVersionBody,
  ends: Ends,
): Promise<Change> {
  const found = await requireTable(request, services, body, 'write');
  const table = await checkDeclared(found, services);
  const { plan, branch, growth, versionMetadata } = toVersionWrite({ table, body, write: request.write }, services);
  const { caller, database } = request;
  const sized = await services.sizeQuotas.begin({ caller, database, table, arrivedAt: performance.now() }, undefined);
  if (sized !== undefined) ends.push(async () => sized.end());
  // Branches count for no quota.
  const admit = async (): Promise<void> => (branch === undefined ? sized?.admit(await growth()) : undefined);
  const { metadata } = body;
  return { path: table.path, version: { table, branch, plan, versionMetadata, metadata, admit } };
}

async function readDeletion(request: DatabaseRequest, services: Services, body: DeleteVersionsBody): Promise<Change> {
  const table = await checkDeclared(await requireTable(request, services, body, 'manage'), services);
  const ranges = readRanges(body, services.limits.http.pageSizeMax);
  return { path: table.path, deletion: { table, branch: readBranch(body), ranges } };
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
  const { properties = {} } = body;
  guardTableProperties(properties, services.limits.metadata);
  wantsCredentials({ ...request, body }, services);
  const location = body.location === undefined ? undefined : await readNewLocation(request, body.location, services);
  const sized = await services.sizeQuotas.begin({ caller, database, path, arrivedAt: performance.now() }, undefined);
  if (sized !== undefined) ends.push(async () => sized.end());
  return { path, declaration: { databaseId: database.id, path, root: database.root, location, properties } };
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

/** Each table has one state that its readers keep until the batch is committed; versions may be deleted beside. */
function requireDistinct(changes: readonly Change[]): void {
  const seen = new Set<string>();
  for (const { path, version, deletion } of changes) {
    const keys = [deletion === undefined ? 'state' : undefined, version === undefined ? 'history' : undefined]
      .filter((part) => part !== undefined)
      .map((part) => JSON.stringify([part, path]));
    if (keys.some((key) => seen.has(key)))
      throw invalidInput(`The table ${quoteForMessage(path.at(-1) ?? '')} is in the batch twice.`);
    for (const key of keys) seen.add(key);
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
    deletions: changes.flatMap(({ deletion }) => deletion ?? []),
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
