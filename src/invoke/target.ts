import type { Catalog } from '../catalog/catalog.ts';
import { invalidInput } from '../errors/service-error.ts';
import { administersAnything, authorize, isPermitted, isVisible } from '../model/access.ts';
import type { Caller, Decision } from '../model/access.ts';
import {
  belowPrefix,
  checkNames,
  namespaceOf,
  parseNamespacePath,
  parseTablePath,
  quoteForMessage,
  toTablePath,
} from '../model/identifier.ts';
import type { NamespacePath, TablePath } from '../model/identifier.ts';
import { namespaceNotFound, notPermitted, tableNotFound } from '../model/refusals.ts';
import type { Database, TableRecord } from '../model/table.ts';
import type { Operation, OperationRequest } from '../operations/operation.ts';

/** The part of an operation's input that names its target. */
interface TargetInput extends Pick<OperationRequest, 'database' | 'delimiter' | 'prefix' | 'params' | 'query'> {
  readonly body: Readonly<Record<string, unknown>>;
  readonly renamedSeconds: number;
  readonly arrivedAt: number;
}

/** The target of an operation, found in the catalog and permitted to the caller. */
type ResolvedTarget = Pick<OperationRequest, 'table' | 'path' | 'namespace'>;

/** The identifier is in the address; an `id` in the body must match it. */
interface Identified extends Pick<TargetInput, 'delimiter' | 'params' | 'body'> {
  readonly operation: Pick<Operation, 'identifier'>;
}

interface TargetRequest extends TargetInput {
  readonly operation: Operation;
  readonly caller: Caller;
  readonly database: Database;
  readonly catalog: Catalog;
}

/** Hidden and missing targets look the same; visible ones without permission are refused as such. */
export async function resolveTarget(
  operation: Operation,
  caller: Caller,
  input: TargetInput,
  catalog: Catalog,
): Promise<ResolvedTarget> {
  const { database, delimiter, prefix, params, query, body, renamedSeconds, arrivedAt } = input;
  const { target, permission } = operation;
  if (target === 'server') {
    // The permission may apply to anything; the operation checks what exactly.
    if (permission !== 'see' && !administersAnything(caller)) throw notPermitted(permission);
    return {};
  }
  if (database === undefined) throw new Error(`The operation ${operation.id} needs a database.`);
  const named = { delimiter, prefix, params, query, body, renamedSeconds, arrivedAt };
  const request = { ...named, operation, caller, database, catalog };
  switch (target) {
    case 'table':
      return { table: await findTable(request) };
    case 'new-table':
      return { path: await findNewTable(request) };
    case 'namespace':
      return { namespace: await findNamespace(request) };
    case 'new-namespace':
      return { namespace: await findNewNamespace(request) };
    case 'database':
      if (operation.reportsAccess === true) return findInQuery(request);
      if (operation.authorizesTables === undefined) requirePermission(request, []);
      return {};
  }
}

async function findInQuery(request: TargetRequest): Promise<ResolvedTarget> {
  const { operation, query } = request;
  const { table, namespace } = query;
  if (table !== undefined && namespace !== undefined) {
    throw invalidInput('The request has both a table and a namespace.', 'Give only one of them.');
  }
  if (namespace !== undefined) return { namespace: await findNamespace({ ...request, params: { id: namespace } }) };
  if (table === undefined) return {};
  // `see` on the path of a table may come from a namespace of the same name.
  const reading = { ...operation, permission: 'read' } as const;
  return { table: await findTable({ ...request, operation: reading, params: { id: table } }) };
}

async function findTable(request: TargetRequest): Promise<TableRecord> {
  const { database, delimiter, operation, prefix, catalog } = request;
  const shown = readTablePath(request);
  const path = belowPrefix(prefix, shown);
  const isHidden = decide(request, path) === 'hidden';
  const found = isHidden ? undefined : await catalog.tables.find(database.id, path, request.arrivedAt);
  const table = found ?? (await findRenamed(request, path));
  if (table === undefined) {
    if (shown.length > 1) await requireNamespace(request, namespaceOf(path));
    throw tableNotFound(shown, delimiter);
  }
  if (decide(request, table.path) === 'forbidden') throw notPermitted(operation.permission);
  return table;
}

function decide({ caller, database, operation }: TargetRequest, path: TablePath): Decision {
  return authorize(caller, operation.permission, { database: database.name, path, kind: 'table' });
}

/** Requires the same permission on the table's new name. */
async function findRenamed(request: TargetRequest, path: TablePath): Promise<TableRecord | undefined> {
  const { renamedSeconds, database, catalog } = request;
  if (renamedSeconds === 0) return undefined;
  const table = await catalog.tables.findRenamed(database.id, path, renamedSeconds);
  return table === undefined || decide(request, table.path) === 'hidden' ? undefined : table;
}

async function findNewTable(request: TargetRequest): Promise<TablePath> {
  const path = belowPrefix(request.prefix, readTablePath(request));
  await requireNamespace(request, namespaceOf(path));
  requirePermission(request, path);
  return path;
}

async function findNamespace(request: TargetRequest): Promise<NamespacePath> {
  const path = [...request.prefix, ...readNamespacePath(request)];
  if (request.operation.mayBeAbsent === undefined || !mayAccess(request, path)) await requireNamespace(request, path);
  requirePermission(request, path);
  return path;
}

async function findNewNamespace(request: TargetRequest): Promise<NamespacePath> {
  const path = [...request.prefix, ...readNamespacePath(request)];
  await requireNamespace(request, path.slice(0, -1));
  requirePermission(request, path);
  return path;
}

async function requireNamespace(request: TargetRequest, path: NamespacePath): Promise<void> {
  const { caller, database, delimiter, prefix, catalog } = request;
  if (isVisible(caller, database.name, path) && (await catalog.namespaces.find(database.id, path)) !== undefined)
    return;
  throw namespaceNotFound(path.slice(prefix.length), delimiter);
}

function mayAccess({ caller, database, operation }: TargetRequest, path: NamespacePath): boolean {
  return isPermitted(caller, operation.permission, database.name, path);
}

function requirePermission(request: TargetRequest, path: NamespacePath): void {
  if (!mayAccess(request, path)) throw notPermitted(request.operation.permission);
}

export function readTablePath({ delimiter, params, body, operation }: Identified): TablePath {
  const { id: identifier = '' } = params;
  const { id: bodyId } = body;
  const fromAddress =
    operation.identifier === 'name' ? toTablePath([identifier], delimiter) : parseTablePath(identifier, delimiter);
  if (!isNames(bodyId)) return fromAddress;
  const fromBody = toTablePath(bodyId, delimiter);
  requireSame(fromBody.join(delimiter), identifier);
  return fromBody;
}

/** The root is written as the delimiter alone, or omitted where the router would treat that as a path segment `.`. */
export function readNamespacePath({ delimiter, params, body }: Identified): NamespacePath {
  const { id: identifier = '' } = params;
  const { id: bodyId } = body;
  const fromAddress = identifier === '' ? [] : parseNamespacePath(identifier, delimiter);
  if (!isNames(bodyId)) return fromAddress;
  const fromBody = checkNames(bodyId, delimiter);
  if (fromBody.length === 0 && fromAddress.length === 0) return [];
  requireSame(fromBody.join(delimiter), identifier);
  return fromBody;
}

function isNames(bodyId: unknown): bodyId is string[] {
  return Array.isArray(bodyId) && bodyId.every((name) => typeof name === 'string');
}

function requireSame(joined: string, identifier: string): void {
  // The Rust namespace client form-encodes its path: a space in a name arrives as a plus sign.
  if (joined === identifier || joined === identifier.replaceAll('+', ' ')) return;
  throw invalidInput(
    `The id in the body, ${quoteForMessage(joined)}, differs from the id in the URL.`,
    'Omit the id from the body, or make both equal.',
  );
}
