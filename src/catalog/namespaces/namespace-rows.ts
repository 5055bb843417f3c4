import { ServiceError } from '../../errors/service-error.ts';
import { formatPath, quoteForMessage } from '../../model/identifier.ts';
import type { NamespacePath } from '../../model/identifier.ts';
import { createId } from '../ids.ts';
import { toPathText } from '../path-text.ts';
import type { NamespaceRow } from '../schema/rows.ts';
import type { Sql } from '../store.ts';

/** `null` for the root, which has no row. */
export async function requireNamespaceId(sql: Sql, databaseId: string, path: NamespacePath): Promise<string | null> {
  if (path.length === 0) return null;
  const row = await findNamespaceRow(sql, databaseId, path);
  if (row !== undefined) return row.id;
  throw new ServiceError('NamespaceNotFound', `The namespace ${quoteForMessage(formatPath(path))} does not exist.`);
}

/** Creates the namespace and its parents if they are missing. */
export async function ensureNamespaceId(
  sql: Sql,
  databaseId: string,
  path: NamespacePath,
  createdAt: number,
): Promise<string | null> {
  if (path.length === 0) return null;
  const known = await findNamespaceRow(sql, databaseId, path);
  if (known !== undefined) return known.id;
  const parentId = await ensureNamespaceId(sql, databaseId, path.slice(0, -1), createdAt);
  await insertNamespace(sql, { databaseId, path, properties: {}, parentId, id: createId(createdAt), createdAt });
  return requireNamespaceId(sql, databaseId, path);
}

export async function findNamespaceRow(
  sql: Sql,
  databaseId: string,
  path: NamespacePath,
): Promise<NamespaceRow | undefined> {
  return sql
    .selectFrom('namespaces')
    .selectAll()
    .where('databaseId', '=', databaseId)
    .where('path', '=', toPathText(path))
    .executeTakeFirst();
}

interface NewNamespaceRow extends Omit<NamespaceRow, 'path' | 'properties'> {
  readonly path: NamespacePath;
  readonly properties: Readonly<Record<string, string>>;
}

/** False if it already exists. */
export async function insertNamespace(sql: Sql, { path, properties, ...columns }: NewNamespaceRow): Promise<boolean> {
  const result = await sql
    .insertInto('namespaces')
    .values({ ...columns, path: toPathText(path), properties: JSON.stringify(properties) })
    .onConflict((conflict) => conflict.columns(['databaseId', 'path']).doNothing())
    .executeTakeFirst();
  return result.numInsertedOrUpdatedRows === 1n;
}
