import type { Catalog } from '../catalog/catalog.ts';
import { ServiceError } from '../errors/service-error.ts';
import { administersAnything, authorize, isPermitted, isVisible } from '../model/access.ts';
import type { Decision, Caller, Permission } from '../model/access.ts';
import {
  namespaceOf,
  checkNames,
  parseNamespacePath,
  parseTablePath,
  quoteForMessage,
  toTablePath,
} from '../model/identifier.ts';
import type { NamespacePath, TablePath } from '../model/identifier.ts';
import { namespaceNotFound, notPermitted, tableNotFound } from '../model/refusals.ts';
import type { Database, TableRecord } from '../model/table.ts';
import type { Operation, OperationRequest } from '../operations/operation.ts';
import type { IncomingMessage } from 'node:http';

/** What a request is about, found in the catalog and permitted to the caller. */
export type ResolvedTarget = Pick<OperationRequest, 'table' | 'path' | 'namespace'>;

export interface TargetRequest {
  readonly operation: Operation;
  readonly caller: Caller;
  readonly database: Database;
  readonly delimiter: string;
  /** The namespace below which the identifiers of the request are meant. */
  readonly prefix: NamespacePath;
  /** The identifier in the address, decoded. */
  readonly identifier: string;
  /** The body's `id`, where there is one. */
  readonly bodyId: unknown;
  /** How long the name that a table had before still leads to it, for this request. */
  readonly renamedSeconds: number;
}

/** Hidden and absent look the same; what is seen but not permitted says so. */
export async function resolveTarget(asked: TargetRequest, catalog: Catalog): Promise<ResolvedTarget> {
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
    case 'server':
      return aboutServer(asked);
  }
}

/** The permission is needed on anything at all: the operation itself checks on what exactly the caller has it. */
export function aboutServer({ caller, operation }: Pick<TargetRequest, 'caller' | 'operation'>): ResolvedTarget {
  if (operation.permission !== 'see' && !administersAnything(caller)) throw notPermitted(operation.permission);
  return {};
}

/** What fails because its table was dropped meanwhile is no failure of the service. */
export async function explainFailure(
  error: unknown,
  { table, delimiter }: { readonly table?: TableRecord | undefined; readonly delimiter: string },
  catalog: Catalog,
): Promise<unknown> {
  if (table === undefined || !(error instanceof ServiceError) || error.kind !== 'Internal') return error;
  try {
    return (await catalog.tables.has(table.id)) ? error : tableNotFound(table.path, delimiter);
  } catch {
    return error;
  }
}

async function findTable(asked: TargetRequest, catalog: Catalog): Promise<TableRecord> {
  const { database, delimiter, operation, prefix } = asked;
  const shown = readTablePath(asked);
  const path = belowPrefix(prefix, shown);
  const isHidden = decide(asked, path) === 'hidden';
  const found = isHidden ? undefined : await catalog.tables.find(database.id, path);
  const table = found ?? (await findRenamed(asked, path, catalog));
  if (table === undefined) throw tableNotFound(shown, delimiter);
  if (decide(asked, table.path) === 'forbidden') throw notPermitted(operation.permission);
  return table;
}

function decide({ caller, database, operation }: TargetRequest, path: TablePath): Decision {
  return authorize(caller, operation.permission, { database: database.name, path, kind: 'table' });
}

/** The caller needs the same permission at the name that the table has now. */
async function findRenamed(asked: TargetRequest, path: TablePath, catalog: Catalog): Promise<TableRecord | undefined> {
  if (asked.renamedSeconds === 0) return undefined;
  const table = await catalog.tables.findRenamed(asked.database.id, path, asked.renamedSeconds);
  return table === undefined || decide(asked, table.path) === 'hidden' ? undefined : table;
}

async function findPlaceForTable(asked: TargetRequest, catalog: Catalog): Promise<TablePath> {
  const path = belowPrefix(asked.prefix, readTablePath(asked));
  await requireNamespace(asked, namespaceOf(path), catalog);
  requirePermission(asked, path);
  return path;
}

async function findNamespace(asked: TargetRequest, catalog: Catalog): Promise<NamespacePath> {
  const path = [...asked.prefix, ...readNamespacePath(asked)];
  const { caller, database, operation } = asked;
  const isPermittedAnyway = isPermitted(caller, operation.permission, database.name, path);
  if (operation.mayBeAbsent === undefined || !isPermittedAnyway) await requireNamespace(asked, path, catalog);
  requirePermission(asked, path);
  return path;
}

async function findPlaceForNamespace(asked: TargetRequest, catalog: Catalog): Promise<NamespacePath> {
  const path = [...asked.prefix, ...readNamespacePath(asked)];
  await requireNamespace(asked, path.slice(0, -1), catalog);
  requirePermission(asked, path);
  return path;
}

async function requireNamespace(asked: TargetRequest, path: NamespacePath, catalog: Catalog): Promise<void> {
  const { caller, database, delimiter, prefix } = asked;
  const isThere = isVisible(caller, database.name, path) && (await catalog.namespaces.exists(database.id, path));
  if (!isThere) throw namespaceNotFound(path.slice(prefix.length), delimiter);
}

function requirePermission({ caller, database, operation }: TargetRequest, path: NamespacePath): void {
  const { permission }: { readonly permission: Permission } = operation;
  if (!isPermitted(caller, permission, database.name, path)) throw notPermitted(permission);
}

interface Addressed {
  readonly operation: Pick<Operation, 'identifier'>;
  readonly identifier: string;
  readonly delimiter: string;
  readonly bodyId: unknown;
}

/** The table that the address names; a body that names one too must mean the same. */
export function readTablePath(addressed: Addressed): TablePath {
  const { identifier, delimiter, bodyId, operation } = addressed;
  const fromAddress =
    operation.identifier === 'name' ? toTablePath([identifier], delimiter) : parseTablePath(identifier, delimiter);
  if (!isNames(bodyId)) return fromAddress;
  const fromBody = toTablePath(bodyId, delimiter);
  requireSame(fromBody.join(delimiter), identifier);
  return fromBody;
}

/** The root is written as the delimiter alone, or, where the router would take that for a dot of the path, left out. */
export function readNamespacePath({ identifier, delimiter, bodyId }: Addressed): NamespacePath {
  const fromAddress = identifier === '' ? [] : parseNamespacePath(identifier, delimiter);
  if (!isNames(bodyId)) return fromAddress;
  const fromBody = checkNames(bodyId, delimiter);
  if (fromBody.length === 0 && fromAddress.length === 0) return [];
  requireSame(fromBody.join(delimiter), identifier);
  return fromBody;
}

const PREFIX_HEADER = 'x-lancedb-database-prefix';

/** A client whose address of the database goes on with a path works in the namespace of that path, as in a database. */
export function readPrefix({ headers }: IncomingMessage, delimiter: string): NamespacePath {
  const header = headers[PREFIX_HEADER];
  if (typeof header !== 'string') return [];
  return checkNames(
    header.split('/').filter((name) => name !== ''),
    delimiter,
  );
}

/** Puts what the caller's identifier means below the prefix of its request. */
export function belowPrefix(prefix: NamespacePath, [first, ...rest]: TablePath): TablePath {
  const [top, ...below] = [...prefix, first, ...rest];
  return [top ?? first, ...below];
}

function isNames(bodyId: unknown): bodyId is string[] {
  return Array.isArray(bodyId) && bodyId.every((name) => typeof name === 'string');
}

function requireSame(joined: string, identifier: string): void {
  // The Rust namespace client form-encodes its path, so that a space in a name arrives as a plus sign.
  if (joined === identifier || joined === identifier.replaceAll('+', ' ')) return;
  throw new ServiceError(
    'InvalidInput',
    `The id in the body, ${quoteForMessage(joined)}, is not the one in the address.`,
    { hint: 'Leave the id out of the body, or let the two agree.' },
  );
}
