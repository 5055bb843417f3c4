import type { Catalog } from '../catalog/catalog.ts';
import { authorize } from '../model/authorize.ts';
import { isPermitted, isVisible } from '../model/caller.ts';
import type { Caller, Permission } from '../model/caller.ts';
import { namespaceOf } from '../model/identifier.ts';
import type { NamespacePath, TablePath } from '../model/identifier.ts';
import { namespaceNotFound, notPermitted, tableNotFound } from '../model/refusals.ts';
import type { Database, TableRecord } from '../model/table.ts';
import type { Operation, OperationRequest } from '../operations/operation.ts';
import { readNamespacePath, readTablePath } from './path-identifier.ts';

/** What a request is about, found in the catalog and permitted to the caller. */
export type Subject = Pick<OperationRequest, 'table' | 'path' | 'namespace'>;

export interface Asked {
  readonly operation: Operation;
  readonly caller: Caller;
  readonly database: Database;
  readonly delimiter: string;
  /** The identifier in the address, decoded. */
  readonly identifier: string;
  /** The body's `id`, where there is one. */
  readonly bodyId: unknown;
}

/** Hidden and absent look the same; what is seen but not permitted says so. */
export async function findSubject(asked: Asked, catalog: Catalog): Promise<Subject> {
  switch (asked.operation.target) {
    case 'table':
      return { table: await findTable(asked, catalog) };
    case 'new-table':
      return { path: await findPlaceForTable(asked, catalog) };
    case 'namespace':
      return { namespace: await findNamespace(asked, catalog) };
    case 'new-namespace':
      return { namespace: await findPlaceForNamespace(asked, catalog) };
    case 'database':
      requirePermission(asked, []);
      return {};
  }
}

async function findTable(asked: Asked, catalog: Catalog): Promise<TableRecord> {
  const { caller, database, delimiter, operation } = asked;
  const path = readTablePath(asked);
  const decision = authorize(caller, operation.permission, { database: database.name, path, kind: 'table' });
  if (decision === 'hidden') throw tableNotFound(path, delimiter);
  const table = await catalog.tables.find(database.id, path);
  if (table === undefined) throw tableNotFound(path, delimiter);
  if (decision === 'forbidden') throw notPermitted(operation.permission);
  return table;
}

async function findPlaceForTable(asked: Asked, catalog: Catalog): Promise<TablePath> {
  const path = readTablePath(asked);
  await requireNamespace(asked, namespaceOf(path), catalog);
  requirePermission(asked, path);
  return path;
}

async function findNamespace(asked: Asked, catalog: Catalog): Promise<NamespacePath> {
  const path = readNamespacePath(asked);
  await requireNamespace(asked, path, catalog);
  requirePermission(asked, path);
  return path;
}

async function findPlaceForNamespace(asked: Asked, catalog: Catalog): Promise<NamespacePath> {
  const path = readNamespacePath(asked);
  await requireNamespace(asked, path.slice(0, -1), catalog);
  requirePermission(asked, path);
  return path;
}

async function requireNamespace(asked: Asked, path: NamespacePath, catalog: Catalog): Promise<void> {
  const { caller, database, delimiter } = asked;
  const isThere = isVisible(caller, database.name, path) && (await catalog.namespaces.exists(database.id, path));
  if (!isThere) throw namespaceNotFound(path, delimiter);
}

function requirePermission({ caller, database, operation }: Asked, path: NamespacePath): void {
  const { permission }: { readonly permission: Permission } = operation;
  if (!isPermitted(caller, permission, database.name, path)) throw notPermitted(permission);
}
