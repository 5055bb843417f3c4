import type { Static } from 'typebox';
import type { BatchChanges } from '../../catalog/catalog.ts';
import { invalidInput } from '../../errors/service-error.ts';
import { guardTableProperties } from '../../guard/metadata.ts';
import { authorize, isPermitted, isVisible } from '../../model/access.ts';
import type { Permission } from '../../model/access.ts';
import { belowPrefix, namespaceOf, quoteForMessage, toTablePath } from '../../model/identifier.ts';
import type { TablePath } from '../../model/identifier.ts';
import { namespaceNotFound, notPermitted, tableNotFound } from '../../model/refusals.ts';
import type { TableRecord } from '../../model/table.ts';
import type { SizedRequest, SizedWrite } from '../../quotas/size-quotas.ts';
import type { TableOperation } from '../../wire/history/batches.ts';
import type { CreateVersionBody, DeleteVersionsBody } from '../../wire/history/versions.ts';
import type { DeclareTableBody } from '../../wire/tables.ts';
import type { BatchedDeletion, BatchedVersion } from '../../writes/writes.ts';
import { toShownPath } from '../operation.ts';
import type { DatabaseRequest } from '../operation.ts';
import type { Services } from '../services.ts';
import { readBranch } from '../shared/table-state.ts';
import { checkDeclared } from '../tables/declared-tables.ts';
import { readNewLocation } from '../tables/given-location.ts';
import { wantsCredentials } from '../tables/vend-credentials.ts';
import { toVersionWrite } from './managed-versions.ts';
import { readRanges } from './versions.ts';

/** One operation of a batch: exactly one of its changes is set. */
export interface Change {
  readonly path: TablePath;
  readonly version?: BatchedVersion & {
    readonly metadata: CreateVersionBody['metadata'] | undefined;
    readonly admit: () => Promise<void>;
  };
  readonly declaration?: BatchChanges['declarations'][number];
  readonly deregistered?: TableRecord;
  readonly deletion?: BatchedDeletion;
}

/** Reads and checks the operations of one batch. */
export class BatchReader {
  readonly #request: DatabaseRequest;
  readonly #services: Services;
  readonly #sizes: SizedWrite[] = [];

  constructor(request: DatabaseRequest, services: Services) {
    this.#request = request;
    this.#services = services;
  }

  /**
   * Makes all checks that need no write queue. All tables are found and permitted before the first change is checked.
   */
  async read(operations: readonly TableOperation[]): Promise<readonly Change[]> {
    const changes: Change[] = [];
    for (const [index, operation] of operations.entries()) changes.push(await this.#readChange(operation, index));
    requireDistinct(changes);
    for (const { version } of changes) {
      if (version === undefined) continue;
      await version.plan.check();
      await version.admit();
    }
    return changes;
  }

  /** Must be called in any case: ends what was begun for the size quotas. */
  async end(): Promise<void> {
    for (const sized of this.#sizes) await sized.end();
  }

  async #readChange(operation: TableOperation, index: number): Promise<Change> {
    if (Object.keys(operation).length !== 1) {
      throw invalidInput(`operations[${index}] must have exactly one member.`, 'Give one kind of operation per entry.');
    }
    if (operation.create_table_version !== undefined) return this.#readVersion(operation.create_table_version);
    if (operation.declare_table !== undefined) return this.#readDeclaration(operation.declare_table);
    if (operation.deregister_table !== undefined) {
      const table = await this.#requireTable(operation.deregister_table, 'manage');
      return { path: table.path, deregistered: table };
    }
    return this.#readDeletion(operation.delete_table_versions ?? { ranges: [] });
  }

  async #readVersion(body: CreateVersionBody): Promise<Change> {
    const table = await checkDeclared(await this.#requireTable(body, 'write'), this.#services);
    const write = toVersionWrite({ table, body, write: this.#request.write }, this.#services);
    const { plan, branch, growth, versionMetadata } = write;
    const sized = await this.#beginSize({ table });
    // Branches do not count towards quotas.
    const admit = async (): Promise<void> => (branch === undefined ? sized?.admit(await growth()) : undefined);
    const { metadata } = body;
    return { path: table.path, version: { table, branch, plan, versionMetadata, metadata, admit } };
  }

  async #readDeletion(body: DeleteVersionsBody): Promise<Change> {
    const table = await checkDeclared(await this.#requireTable(body, 'manage'), this.#services);
    const ranges = readRanges(body, this.#services.limits.http.pageSizeMax);
    return { path: table.path, deletion: { table, branch: readBranch(body), ranges } };
  }

  async #readDeclaration(body: Static<typeof DeclareTableBody>): Promise<Change> {
    const [request, services] = [this.#request, this.#services];
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
    await this.#beginSize({ path });
    return { path, declaration: { databaseId: database.id, path, root: database.root, location, properties } };
  }

  async #beginSize(subject: Pick<SizedRequest, 'table' | 'path'>): Promise<SizedWrite | undefined> {
    const { caller, database } = this.#request;
    const request = { caller, database, ...subject, arrivedAt: performance.now() };
    const sized = await this.#services.sizeQuotas.begin(request, undefined);
    if (sized !== undefined) this.#sizes.push(sized);
    return sized;
  }

  /** Hidden and missing tables look the same; visible ones without permission are refused as such. */
  async #requireTable(named: { readonly id?: string[] }, permission: Permission): Promise<TableRecord> {
    const { caller, database, delimiter } = this.#request;
    const path = readPath(this.#request, named);
    const decision = authorize(caller, permission, { database: database.name, path, kind: 'table' });
    const table = decision === 'hidden' ? undefined : await this.#services.catalog.tables.find(database.id, path);
    if (table === undefined) throw tableNotFound(toShownPath(this.#request, path), delimiter);
    if (decision === 'forbidden') throw notPermitted(permission);
    return table;
  }
}

export function readPath({ delimiter, prefix }: DatabaseRequest, { id }: { readonly id?: string[] }): TablePath {
  if (id === undefined) throw invalidInput('An operation of the batch has no id.', 'Give the id of its table.');
  return belowPrefix(prefix, toTablePath(id, delimiter));
}

/**
 * Readers of a table are held at one version until the batch is committed, so it can only be changed once; deleting
 * versions is allowed in addition.
 */
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
