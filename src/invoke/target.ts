import type { Catalog } from '../catalog/catalog.ts';
import { ServiceError } from '../errors/service-error.ts';
import { administersAnything, authorize, isPermitted, isVisible } from '../model/access.ts';
import type { Caller, Decision } from '../model/access.ts';
import {
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
export interface TargetInput extends Pick<OperationRequest, 'database' | 'delimiter' | 'prefix' | 'params'> {
  readonly body: Readonly<Record<string, unknown>>;
  readonly renamedSeconds: number;
}

/** What an operation acts on, found in the catalog and permitted to the caller. */
export type ResolvedTarget = Pick<OperationRequest, 'table' | 'path' | 'namespace'>;

/** Hidden and absent look the same; visible but not permitted is refused as such. */
export async function resolveTarget(
  operation: Operation,
  caller: Caller,
  { database, params, body, ...input }: TargetInput,
  catalog: Catalog,
): Promise<ResolvedTarget> {
  if (operation.target === 'server') return requireAdministration(operation, caller);
  if (database === undefined) throw new Error(`The operation ${operation.id} needs a database.`);
  const identifier = params['id'] ?? '';
  return new TargetResolver({
    operation,
    caller,
    database,
    catalog,
    identifier,
    bodyId: body['id'],
    ...input,
  }).resolve();
}

/** The permission may be on anything; the operation checks on what exactly the caller has it. */
function requireAdministration({ permission }: Operation, caller: Caller): ResolvedTarget {
  if (permission !== 'see' && !administersAnything(caller)) throw notPermitted(permission);
  return {};
}

interface ResolverOptions extends Identified, Pick<TargetInput, 'prefix' | 'renamedSeconds'> {
  readonly operation: Operation;
  readonly caller: Caller;
  readonly database: Database;
  readonly catalog: Catalog;
}

class TargetResolver {
  readonly #options: ResolverOptions;

  constructor(options: ResolverOptions) {
    this.#options = options;
  }

  async resolve(): Promise<ResolvedTarget> {
    switch (this.#options.operation.target) {
      case 'table':
        return { table: await this.#table() };
      case 'new-table':
        return { path: await this.#newTable() };
      case 'namespace':
        return { namespace: await this.#namespace() };
      case 'new-namespace':
        return { namespace: await this.#newNamespace() };
      case 'database':
        this.#requirePermission([]);
        return {};
      case 'server':
        return {};
    }
  }

  async #table(): Promise<TableRecord> {
    const { database, delimiter, operation, prefix, catalog } = this.#options;
    const shown = readTablePath(this.#options);
    const path = belowPrefix(prefix, shown);
    const isHidden = this.#decide(path) === 'hidden';
    const found = isHidden ? undefined : await catalog.tables.find(database.id, path);
    const table = found ?? (await this.#renamedTable(path));
    if (table === undefined) throw tableNotFound(shown, delimiter);
    if (this.#decide(table.path) === 'forbidden') throw notPermitted(operation.permission);
    return table;
  }

  /** Needs the same permission at the table's new name. */
  async #renamedTable(path: TablePath): Promise<TableRecord | undefined> {
    const { renamedSeconds, database, catalog } = this.#options;
    if (renamedSeconds === 0) return undefined;
    const table = await catalog.tables.findRenamed(database.id, path, renamedSeconds);
    return table === undefined || this.#decide(table.path) === 'hidden' ? undefined : table;
  }

  async #newTable(): Promise<TablePath> {
    const path = belowPrefix(this.#options.prefix, readTablePath(this.#options));
    await this.#requireNamespace(namespaceOf(path));
    this.#requirePermission(path);
    return path;
  }

  async #namespace(): Promise<NamespacePath> {
    const { operation, prefix } = this.#options;
    const path = [...prefix, ...readNamespacePath(this.#options)];
    if (operation.mayBeAbsent === undefined || !this.#isPermitted(path)) await this.#requireNamespace(path);
    this.#requirePermission(path);
    return path;
  }

  async #newNamespace(): Promise<NamespacePath> {
    const path = [...this.#options.prefix, ...readNamespacePath(this.#options)];
    await this.#requireNamespace(path.slice(0, -1));
    this.#requirePermission(path);
    return path;
  }

  async #requireNamespace(path: NamespacePath): Promise<void> {
    const { caller, database, delimiter, prefix, catalog } = this.#options;
    if (isVisible(caller, database.name, path) && (await catalog.namespaces.exists(database.id, path))) return;
    throw namespaceNotFound(path.slice(prefix.length), delimiter);
  }

  #decide(path: TablePath): Decision {
    const { caller, database, operation } = this.#options;
    return authorize(caller, operation.permission, { database: database.name, path, kind: 'table' });
  }

  #isPermitted(path: NamespacePath): boolean {
    const { caller, database, operation } = this.#options;
    return isPermitted(caller, operation.permission, database.name, path);
  }

  #requirePermission(path: NamespacePath): void {
    if (!this.#isPermitted(path)) throw notPermitted(this.#options.operation.permission);
  }
}

interface Identified {
  readonly operation: Pick<Operation, 'identifier'>;
  /** From the address, decoded. */
  readonly identifier: string;
  readonly delimiter: string;
  /** The body's `id`, which must agree with the address. */
  readonly bodyId: unknown;
}

export function readTablePath({ identifier, delimiter, bodyId, operation }: Identified): TablePath {
  const fromAddress =
    operation.identifier === 'name' ? toTablePath([identifier], delimiter) : parseTablePath(identifier, delimiter);
  if (!isNames(bodyId)) return fromAddress;
  const fromBody = toTablePath(bodyId, delimiter);
  requireSame(fromBody.join(delimiter), identifier);
  return fromBody;
}

/** The root is written as the delimiter alone, or left out where the router would take that for a dot of the path. */
export function readNamespacePath({ identifier, delimiter, bodyId }: Identified): NamespacePath {
  const fromAddress = identifier === '' ? [] : parseNamespacePath(identifier, delimiter);
  if (!isNames(bodyId)) return fromAddress;
  const fromBody = checkNames(bodyId, delimiter);
  if (fromBody.length === 0 && fromAddress.length === 0) return [];
  requireSame(fromBody.join(delimiter), identifier);
  return fromBody;
}

function belowPrefix(prefix: NamespacePath, [first, ...rest]: TablePath): TablePath {
  const [top, ...below] = [...prefix, first, ...rest];
  return [top ?? first, ...below];
}

function isNames(bodyId: unknown): bodyId is string[] {
  return Array.isArray(bodyId) && bodyId.every((name) => typeof name === 'string');
}

function requireSame(joined: string, identifier: string): void {
  // The Rust namespace client form-encodes its path: a space in a name arrives as a plus sign.
  if (joined === identifier || joined === identifier.replaceAll('+', ' ')) return;
  throw new ServiceError(
    'InvalidInput',
    `The id in the body, ${quoteForMessage(joined)}, is not the one in the address.`,
    { hint: 'Leave the id out of the body, or let the two agree.' },
  );
}
