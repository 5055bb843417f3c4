import { ServiceError } from '../../errors/service-error.ts';
import { formatPath, quoteForMessage } from '../../model/identifier.ts';
import type { NamespacePath } from '../../model/identifier.ts';
import type { CatalogContext } from '../context.ts';
import { createId } from '../ids.ts';
import { findNamespaceRow, insertNamespace, requireNamespaceId } from './namespace-rows.ts';
import { fromPathText, pathKey, toPathText, rangeFrom, toTablePath } from '../path-text.ts';
import type { NamespaceRow, TableRow } from '../schema/rows.ts';
import type { Sql } from '../store.ts';
import { toProperties } from '../tables/table-rows.ts';
import { recordTransaction } from '../journal/transactions.ts';
import type { CommitEntry } from '../journal/transactions.ts';
import { removeRow } from '../tables/removals-and-renames.ts';
import type { Removal } from '../tables/removals-and-renames.ts';
import type { StorageRoots } from '../storage-roots.ts';

export interface NewNamespace {
  readonly databaseId: string;
  readonly path: NamespacePath;
  readonly properties: Readonly<Record<string, string>>;
}

export interface NamespacePage {
  readonly databaseId: string;
  readonly parent: NamespacePath;
  /** The path of the last namespace that was seen. */
  readonly after?: NamespacePath;
  /** Only these. */
  readonly paths?: readonly NamespacePath[];
  readonly limit: number;
}

export interface NamespaceRecord {
  readonly path: NamespacePath;
  readonly properties: Readonly<Record<string, string>>;
}

export interface NamespaceStore {
  /** The root is always there. */
  exists(databaseId: string, path: NamespacePath): Promise<boolean>;
  /** The root is always there, without properties. */
  find(databaseId: string, path: NamespacePath): Promise<NamespaceRecord | undefined>;
  /** The namespaces directly below one, in the order of their names. */
  list(page: NamespacePage): Promise<readonly NamespacePath[]>;
  create(namespace: NewNamespace, entry?: CommitEntry): Promise<{ readonly transactionId: string | undefined }>;
  /** Gives whose data are to be removed next. `undefined` when there is no such namespace. */
  drop(drop: NamespaceDrop, entry: CommitEntry): Promise<DroppedNamespace | undefined>;
  /** An empty namespace in place of the one that is there, and of all inside it; all at once. */
  replace(namespace: NewNamespace, entry: CommitEntry): Promise<DroppedNamespace>;
}

export function createNamespaceStore(context: CatalogContext): NamespaceStore {
  const { read, write, append, caches, roots, now } = context;
  const present = caches.create<true>();
  return {
    async exists(databaseId, path) {
      if (path.length === 0) return true;
      const known = await present.find(pathKey(databaseId, path), async () => {
        const row = await read(async (sql) => findNamespaceRow(sql, databaseId, path));
        return row === undefined ? undefined : true;
      });
      return known === true;
    },

    async find(databaseId, path) {
      if (path.length === 0) return { path, properties: {} };
      const row = await read(async (sql) => findNamespaceRow(sql, databaseId, path));
      return row === undefined ? undefined : { path, properties: toProperties(row.properties) };
    },

    async list(page) {
      const rows = await read(async (sql) => listChildren(sql, page));
      return rows.map((row) => fromPathText(row.path));
    },

    async create(namespace, entry) {
      if (namespace.path.length === 0) throw namespaceExists(namespace.path);
      return append(async (sql) => insertNew(sql, { namespace, entry, createdAt: now() }));
    },

    async drop(drop, entry) {
      return write(async (sql) => dropNamespace(sql, { drop, entry, roots, droppedAt: now() }));
    },

    async replace(namespace, entry) {
      const { databaseId, path } = namespace;
      if (path.length === 0) throw namespaceExists(path);
      return write(async (sql) => {
        const drop = { databaseId, path, behavior: 'cascade' } as const;
        const dropped = await dropNamespace(sql, { drop, entry, roots, droppedAt: now() });
        const { transactionId = '' } = await insertNew(sql, { namespace, entry, createdAt: now() });
        return { transactionId, removals: dropped?.removals ?? [] };
      });
    },
  };
}

interface Insertion {
  readonly namespace: NewNamespace;
  readonly entry: CommitEntry | undefined;
  readonly createdAt: number;
}

async function insertNew(sql: Sql, { namespace, entry, createdAt }: Insertion) {
  const { databaseId, path } = namespace;
  const parentId = await requireNamespaceId(sql, databaseId, path.slice(0, -1));
  const id = createId(createdAt);
  const isNew = await insertNamespace(sql, { ...namespace, parentId, id, createdAt });
  if (!isNew) throw namespaceExists(path);
  if (entry === undefined) return { transactionId: undefined };
  const record = { ...entry, databaseId, tableId: id, path, committedAt: createdAt };
  return { transactionId: await recordTransaction(sql, record) };
}

async function listChildren(sql: Sql, page: NamespacePage): Promise<readonly Pick<NamespaceRow, 'path'>[]> {
  const { databaseId, parent, after, paths, limit } = page;
  const parentId = await requireNamespaceId(sql, databaseId, parent);
  let query = sql.selectFrom('namespaces').select('path').where('database_id', '=', databaseId);
  query = parentId === null ? query.where('parent_id', 'is', null) : query.where('parent_id', '=', parentId);
  if (after !== undefined) query = query.where('path', '>', toPathText(after));
  if (paths !== undefined) query = query.where('path', 'in', paths.map(toPathText));
  return query.orderBy('path').limit(limit).execute();
}

function namespaceExists(path: NamespacePath): ServiceError {
  return new ServiceError(
    'NamespaceAlreadyExists',
    `The namespace ${quoteForMessage(formatPath(path))} already exists.`,
  );
}

export interface NamespaceDrop {
  readonly databaseId: string;
  readonly path: NamespacePath;
  /** `restrict` refuses a namespace that is not empty, `cascade` drops what is inside. */
  readonly behavior: 'restrict' | 'cascade';
}

export interface DroppedNamespace {
  readonly transactionId: string;
  readonly removals: readonly Removal[];
}

interface DropWork {
  readonly drop: NamespaceDrop;
  readonly entry: CommitEntry;
  readonly roots: StorageRoots;
  readonly droppedAt: number;
}

export async function dropNamespace(sql: Sql, work: DropWork): Promise<DroppedNamespace | undefined> {
  const { databaseId, path } = work.drop;
  const row = await findNamespaceRow(sql, databaseId, path);
  if (row === undefined) return undefined;
  const tables = await tablesInside(sql, databaseId, path);
  if (work.drop.behavior === 'restrict') await requireEmpty(sql, row.id, { path, tables: tables.length });
  const removals: Removal[] = [];
  for (const table of tables) removals.push(await dropTable(sql, table, work));
  await deleteNamespaces(sql, databaseId, path);
  const record = { ...work.entry, databaseId, tableId: row.id, path, committedAt: work.droppedAt };
  return { transactionId: await recordTransaction(sql, record), removals };
}

/** Also one that is still being made: its maker finds the name given up, and removes what it wrote. */
async function dropTable(sql: Sql, row: TableRow, { entry, roots, droppedAt }: DropWork): Promise<Removal> {
  const removal = await removeRow(sql, row, { roots, removedAt: droppedAt });
  if (row.state === 'reserved') return removal;
  await recordTransaction(sql, {
    ...entry,
    operation: 'drop_table',
    databaseId: row.database_id,
    tableId: row.id,
    path: toTablePath(row.path),
    committedAt: droppedAt,
  });
  return removal;
}

async function tablesInside(sql: Sql, databaseId: string, path: NamespacePath): Promise<readonly TableRow[]> {
  const range = rangeFrom(path);
  if (range === undefined) throw new Error('The root namespace is never dropped.');
  return (
    sql
      .selectFrom('tables')
      .selectAll()
      .where('database_id', '=', databaseId)
      // A table at the same path is beside the namespace, not in it.
      .where('path', '>', range.from)
      .where('path', '<', range.before)
      .orderBy('path')
      .execute()
  );
}

async function requireEmpty(
  sql: Sql,
  namespaceId: string,
  { path, tables }: { path: NamespacePath; tables: number },
): Promise<void> {
  const child = await sql
    .selectFrom('namespaces')
    .select('id')
    .where('parent_id', '=', namespaceId)
    .limit(1)
    .executeTakeFirst();
  if (tables === 0 && child === undefined) return;
  throw new ServiceError('NamespaceNotEmpty', `The namespace ${quoteForMessage(formatPath(path))} is not empty.`, {
    hint: 'Drop what is inside first, or use behavior "cascade".',
  });
}

/** In one statement, because a namespace and the one above it refer to each other. */
async function deleteNamespaces(sql: Sql, databaseId: string, path: NamespacePath): Promise<void> {
  const range = rangeFrom(path);
  if (range === undefined) return;
  await sql
    .deleteFrom('namespaces')
    .where('database_id', '=', databaseId)
    .where('path', '>=', range.from)
    .where('path', '<', range.before)
    .execute();
}
