import { ServiceError } from '../../errors/service-error.ts';
import { formatPath, quoteForMessage } from '../../model/identifier.ts';
import type { NamespacePath } from '../../model/identifier.ts';
import type { CatalogContext } from '../context.ts';
import { createId } from '../ids.ts';
import { recordTransaction } from '../journal/transactions.ts';
import type { CommitEntry, Recorded } from '../journal/transactions.ts';
import { fromPathText, pathKey, rangeFrom, toPathText, toTablePath } from '../path-text.ts';
import type { Sql } from '../store.ts';
import { removeRow } from '../tables/lifecycle.ts';
import type { Removal } from '../tables/lifecycle.ts';
import { SUMMARY_COLUMNS, toProperties } from '../tables/table-rows.ts';
import { findNamespaceRow, insertNamespace, requireNamespaceId } from './namespace-rows.ts';

interface NamespaceRecord {
  readonly path: NamespacePath;
  readonly properties: Readonly<Record<string, string>>;
}

type NewNamespace = NamespaceRecord & { readonly databaseId: string };

export interface NamespacePage {
  readonly databaseId: string;
  readonly parent: NamespacePath;
  /** The path of the last namespace of the previous page. */
  readonly after?: NamespacePath | undefined;
  readonly paths?: readonly NamespacePath[] | undefined;
  readonly limit: number;
}

interface NamespaceDrop {
  readonly databaseId: string;
  readonly path: NamespacePath;
  /** `restrict` refuses a namespace that is not empty; `cascade` drops its contents. */
  readonly behavior: 'restrict' | 'cascade';
}

interface DroppedNamespace extends Recorded {
  /** Data to be deleted next. */
  readonly removals: readonly Removal[];
}

/** The root namespace always exists, without properties. */
export function createNamespaceStore(context: CatalogContext) {
  const { read, write, append, caches } = context;
  const cache = caches.create<NamespaceRecord>();
  return {
    async find(databaseId: string, path: NamespacePath): Promise<NamespaceRecord | undefined> {
      if (path.length === 0) return { path, properties: {} };
      return cache.find(pathKey(databaseId, path), async () => {
        const row = await read(async (sql) => findNamespaceRow(sql, databaseId, path));
        return row && { path, properties: toProperties(row.properties) };
      });
    },

    /** The direct children of a namespace, ordered by name. */
    async list({ databaseId, parent, after, paths, limit }: NamespacePage): Promise<readonly NamespacePath[]> {
      const rows = await read(async (sql) => {
        const parentId = await requireNamespaceId(sql, databaseId, parent);
        if (paths?.length === 0) return [];
        let query = sql.selectFrom('namespaces').select('path').where('databaseId', '=', databaseId);
        query = query.where('parentId', parentId === null ? 'is' : '=', parentId);
        if (after !== undefined) query = query.where('path', '>', toPathText(after));
        if (paths !== undefined) query = query.where('path', 'in', paths.map(toPathText));
        return query.orderBy('path').limit(limit).execute();
      });
      return rows.map((row) => fromPathText(row.path));
    },

    async create(namespace: NewNamespace, entry: CommitEntry): Promise<Recorded> {
      return append(async (sql) => insertRecorded(sql, { ...namespace, entry }, context));
    },

    /** `undefined` if there is no such namespace. */
    async drop(drop: NamespaceDrop, entry: CommitEntry): Promise<DroppedNamespace | undefined> {
      return write(async (sql) => dropNamespace(sql, { ...drop, entry }, context));
    },

    /** Drops the namespace with its contents, if it exists, and creates an empty one, in one transaction. */
    async replace(namespace: NewNamespace, entry: CommitEntry): Promise<DroppedNamespace> {
      const { databaseId, path } = namespace;
      return write(async (sql) => {
        const dropped = await dropNamespace(sql, { databaseId, path, behavior: 'cascade', entry }, context);
        const recorded = await insertRecorded(sql, { ...namespace, entry }, context);
        return { ...recorded, removals: dropped?.removals ?? [] };
      });
    },
  };
}

async function insertRecorded(
  sql: Sql,
  { entry, ...namespace }: NewNamespace & { readonly entry: CommitEntry },
  { now }: CatalogContext,
): Promise<Recorded> {
  const { databaseId, path } = namespace;
  if (path.length === 0) throw namespaceExists(path);
  const parentId = await requireNamespaceId(sql, databaseId, path.slice(0, -1));
  const createdAt = now();
  const id = createId(createdAt);
  const isNew = await insertNamespace(sql, { ...namespace, parentId, id, createdAt });
  if (!isNew) throw namespaceExists(path);
  return recordTransaction(sql, { ...entry, databaseId, tableId: id, path, committedAt: createdAt });
}

function namespaceExists(path: NamespacePath): ServiceError {
  const name = quoteForMessage(formatPath(path));
  return new ServiceError('NamespaceAlreadyExists', `The namespace ${name} already exists.`);
}

async function dropNamespace(
  sql: Sql,
  { databaseId, path, behavior, entry }: NamespaceDrop & { readonly entry: CommitEntry },
  context: CatalogContext,
): Promise<DroppedNamespace | undefined> {
  const row = await findNamespaceRow(sql, databaseId, path);
  if (row === undefined) return undefined;
  const range = rangeFrom(path);
  if (range === undefined) throw new Error('The root namespace cannot be dropped.');
  // A table with the same path is a sibling of the namespace, not inside it.
  const inside = sql
    .selectFrom('tables')
    .select([...SUMMARY_COLUMNS, 'location'])
    .where('databaseId', '=', databaseId);
  const tables = await inside.where('path', '>', range.from).where('path', '<', range.before).orderBy('path').execute();
  if (behavior === 'restrict' && (tables.length > 0 || (await hasChildren(sql, row.id)))) throw notEmpty(path);
  const committedAt = context.now();
  const removals: Removal[] = [];
  for (const table of tables) {
    removals.push(await removeRow(sql, table, context));
    // Its creator finds the reservation given up, and deletes the data that it wrote.
    if (table.state === 'reserved') continue;
    const dropped = { databaseId, tableId: table.id, path: toTablePath(table.path), committedAt };
    await recordTransaction(sql, { ...entry, operation: 'drop_table', ...dropped });
  }
  // One statement, because a namespace and its parent refer to each other.
  const namespaces = sql.deleteFrom('namespaces').where('databaseId', '=', databaseId);
  await namespaces.where('path', '>=', range.from).where('path', '<', range.before).execute();
  const recorded = await recordTransaction(sql, { ...entry, databaseId, tableId: row.id, path, committedAt });
  return { ...recorded, removals };
}

async function hasChildren(sql: Sql, parentId: string): Promise<boolean> {
  const children = sql.selectFrom('namespaces').select('id').where('parentId', '=', parentId);
  return (await children.limit(1).executeTakeFirst()) !== undefined;
}

function notEmpty(path: NamespacePath): ServiceError {
  return new ServiceError('NamespaceNotEmpty', `The namespace ${quoteForMessage(formatPath(path))} is not empty.`, {
    hint: 'Drop its contents first, or use behavior "cascade".',
  });
}
