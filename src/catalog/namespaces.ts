import { ServiceError } from '../errors/service-error.ts';
import { formatPath, quoteForMessage } from '../model/identifier.ts';
import type { NamespacePath } from '../model/identifier.ts';
import type { CatalogContext } from './context.ts';
import { createId } from './ids.ts';
import { pathKey, toPathText } from './path-text.ts';
import type { Sql } from './store.ts';

export interface NewNamespace {
  readonly databaseId: string;
  readonly path: NamespacePath;
  readonly properties: Readonly<Record<string, string>>;
}

export interface NamespaceStore {
  /** The root is always there. */
  exists(databaseId: string, path: NamespacePath): Promise<boolean>;
  create(namespace: NewNamespace): Promise<void>;
}

export function createNamespaceStore({ read, append, caches, now }: CatalogContext): NamespaceStore {
  const present = caches.create<true>();
  return {
    async exists(databaseId, path) {
      if (path.length === 0) return true;
      const known = await present.find(pathKey(databaseId, path), async () => {
        const id = await read(async (sql) => findNamespaceId(sql, databaseId, path));
        return id === undefined ? undefined : true;
      });
      return known === true;
    },

    async create(namespace) {
      if (namespace.path.length === 0) throw namespaceExists(namespace.path);
      await append(async (sql) => {
        const parentId = await requireNamespaceId(sql, namespace.databaseId, namespace.path.slice(0, -1));
        const isNew = await insertNamespace(sql, { ...namespace, parentId, id: createId(now()), createdAt: now() });
        if (!isNew) throw namespaceExists(namespace.path);
      });
    },
  };
}

/** `null` for the root, which has no row. */
export async function requireNamespaceId(sql: Sql, databaseId: string, path: NamespacePath): Promise<string | null> {
  if (path.length === 0) return null;
  const id = await findNamespaceId(sql, databaseId, path);
  if (id !== undefined) return id;
  throw new ServiceError('NamespaceNotFound', `The namespace ${quoteForMessage(formatPath(path))} does not exist.`);
}

/** Makes what is missing of a namespace and of those above it. */
export async function ensureNamespaceId(
  sql: Sql,
  databaseId: string,
  path: NamespacePath,
  createdAt: number,
): Promise<string | null> {
  if (path.length === 0) return null;
  const known = await findNamespaceId(sql, databaseId, path);
  if (known !== undefined) return known;
  const parentId = await ensureNamespaceId(sql, databaseId, path.slice(0, -1), createdAt);
  await insertNamespace(sql, { databaseId, path, properties: {}, parentId, id: createId(createdAt), createdAt });
  return requireNamespaceId(sql, databaseId, path);
}

async function findNamespaceId(sql: Sql, databaseId: string, path: NamespacePath): Promise<string | undefined> {
  const row = await sql
    .selectFrom('namespaces')
    .select('id')
    .where('database_id', '=', databaseId)
    .where('path', '=', toPathText(path))
    .executeTakeFirst();
  return row?.id;
}

interface NamespaceValues extends NewNamespace {
  readonly id: string;
  readonly parentId: string | null;
  readonly createdAt: number;
}

async function insertNamespace(sql: Sql, values: NamespaceValues): Promise<boolean> {
  const result = await sql
    .insertInto('namespaces')
    .values({
      id: values.id,
      database_id: values.databaseId,
      parent_id: values.parentId,
      path: toPathText(values.path),
      properties: JSON.stringify(values.properties),
      created_at: values.createdAt,
    })
    .onConflict((conflict) => conflict.columns(['database_id', 'path']).doNothing())
    .executeTakeFirst();
  return result.numInsertedOrUpdatedRows === 1n;
}

function namespaceExists(path: NamespacePath): ServiceError {
  return new ServiceError(
    'NamespaceAlreadyExists',
    `The namespace ${quoteForMessage(formatPath(path))} already exists.`,
  );
}
