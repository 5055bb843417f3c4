import { ServiceError } from '../../errors/service-error.ts';
import { formatPath, quoteForMessage } from '../../model/identifier.ts';
import type { NamespacePath } from '../../model/identifier.ts';
import type { CatalogContext } from '../context.ts';
import { createId } from '../ids.ts';
import { recordTransaction } from '../journal/transactions.ts';
import type { CommitEntry } from '../journal/transactions.ts';
import { fromPathText, pathKey, rangeFrom, toPathText, toTablePath } from '../path-text.ts';
import type { TableRow } from '../schema/rows.ts';
import type { StorageRoots } from '../storage-roots.ts';
import type { Sql } from '../store.ts';
import { removeRow } from '../tables/lifecycle.ts';
import type { Removal } from '../tables/lifecycle.ts';
import { toProperties } from '../tables/table-rows.ts';
import { findNamespaceRow, insertNamespace, requireNamespaceId } from './namespace-rows.ts';

interface NamespaceRecord {
  readonly path: NamespacePath;
  readonly properties: Readonly<Record<string, string>>;
}

type NewNamespace = NamespaceRecord & { readonly databaseId: string };

export interface NamespacePage {
  readonly databaseId: string;
  readonly parent: NamespacePath;
  /** The path of the last namespace of the page before. */
  readonly after?: NamespacePath | undefined;
  readonly paths?: readonly NamespacePath[] | undefined;
  readonly limit: number;
}

interface NamespaceDrop {
  readonly databaseId: string;
  readonly path: NamespacePath;
  /** `restrict` refuses a namespace that is not empty, `cascade` drops its contents. */
  readonly behavior: 'restrict' | 'cascade';
}

interface DroppedNamespace {
  readonly transactionId: string;
  /** Data to be deleted next. */
  readonly removals: readonly Removal[];
}

/** The root namespace always exists, without properties. */
export function createNamespaceStore({ read, write, append, caches, roots, now }: CatalogContext) {
  const present = caches.create<true>();
  return {
    async exists(databaseId: string, path: NamespacePath): Promise<boolean> {
      if (path.length === 0) return true;
      const found = await present.find(pathKey(databaseId, path), async () => {
        const row = await read(async (sql) => findNamespaceRow(sql, databaseId, path));
        return row && true;
      });
      return found === true;
    },

    async find(databaseId: string, path: NamespacePath): Promise<NamespaceRecord | undefined> {
      if (path.length === 0) return { path, properties: {} };
      const row = await read(async (sql) => findNamespaceRow(sql, databaseId, path));
      return row && { path, properties: toProperties(row.properties) };
    },

    /** The namespaces directly below one, in the order of their names. */
    async list({ databaseId, parent, after, paths, limit }: NamespacePage): Promise<readonly NamespacePath[]> {
      const rows = await read(async (sql) => {
        const parentId = await requireNamespaceId(sql, databaseId, parent);
        let query = sql.selectFrom('namespaces').select('path').where('database_id', '=', databaseId);
        query = query.where('parent_id', parentId === null ? 'is' : '=', parentId);
        if (after !== undefined) query = query.where('path', '>', toPathText(after));
        if (paths !== undefined) query = query.where('path', 'in', paths.map(toPathText));
        return query.orderBy('path').limit(limit).execute();
      });
      return rows.map((row) => fromPathText(row.path));
    },

    async create(
      namespace: NewNamespace,
      entry?: CommitEntry,
    ): Promise<{ readonly transactionId: string | undefined }> {
      if (namespace.path.length === 0) throw namespaceExists(namespace.path);
      return append(async (sql) => insertNew(sql, { namespace, entry, createdAt: now() }));
    },

    /** `undefined` when there is no such namespace. */
    async drop(drop: NamespaceDrop, entry: CommitEntry): Promise<DroppedNamespace | undefined> {
      return write(async (sql) => dropNamespace(sql, { drop, entry, roots, droppedAt: now() }));
    },

    /** Drops the namespace with its contents, if it exists, and creates an empty one, in one transaction. */
    async replace(namespace: NewNamespace, entry: CommitEntry): Promise<DroppedNamespace> {
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

function namespaceExists(path: NamespacePath): ServiceError {
  const name = quoteForMessage(formatPath(path));
  return new ServiceError('NamespaceAlreadyExists', `The namespace ${name} already exists.`);
}

interface DropWork {
  readonly drop: NamespaceDrop;
  readonly entry: CommitEntry;
  readonly roots: StorageRoots;
  readonly droppedAt: number;
}

async function dropNamespace(sql: Sql, work: DropWork): Promise<DroppedNamespace | undefined> {
  const { databaseId, path, behavior } = work.drop;
  const row = await findNamespaceRow(sql, databaseId, path);
  if (row === undefined) return undefined;
  const range = rangeFrom(path);
  if (range === undefined) throw new Error('The root namespace is never dropped.');
  // A table at the same path is beside the namespace, not in it.
  const inside = sql.selectFrom('tables').selectAll().where('database_id', '=', databaseId);
  const after = inside.where('path', '>', range.from).where('path', '<', range.before);
  const tables = await after.orderBy('path').execute();
  if (behavior === 'restrict') await requireEmpty(sql, row.id, { path, tables: tables.length });
  const removals: Removal[] = [];
  for (const table of tables) removals.push(await dropTable(sql, table, work));
  // In one statement, because a namespace and the one above it refer to each other.
  const namespaces = sql.deleteFrom('namespaces').where('database_id', '=', databaseId);
  await namespaces.where('path', '>=', range.from).where('path', '<', range.before).execute();
  const record = { ...work.entry, databaseId, tableId: row.id, path, committedAt: work.droppedAt };
  return { transactionId: await recordTransaction(sql, record), removals };
}

/** Also one that is still being created: its creator finds the name given up, and deletes what it wrote. */
async function dropTable(sql: Sql, row: TableRow, { entry, roots, droppedAt }: DropWork): Promise<Removal> {
  const removal = await removeRow(sql, row, { roots, removedAt: droppedAt });
  if (row.state === 'reserved') return removal;
  const table = { databaseId: row.database_id, tableId: row.id, path: toTablePath(row.path) };
  await recordTransaction(sql, { ...entry, operation: 'drop_table', ...table, committedAt: droppedAt });
  return removal;
}

async function requireEmpty(
  sql: Sql,
  namespaceId: string,
  { path, tables }: { path: NamespacePath; tables: number },
): Promise<void> {
  const children = sql.selectFrom('namespaces').select('id').where('parent_id', '=', namespaceId);
  if (tables === 0 && (await children.limit(1).executeTakeFirst()) === undefined) return;
  throw new ServiceError('NamespaceNotEmpty', `The namespace ${quoteForMessage(formatPath(path))} is not empty.`, {
    hint: 'Drop what is inside first, or use behavior "cascade".',
  });
}
