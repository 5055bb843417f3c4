import { hash } from 'node:crypto';
import type { Catalog } from '../catalog/catalog.ts';
import type { WriteGate } from '../coordination/write-gate.ts';
import { ServiceError, invalidInput } from '../errors/service-error.ts';
import { isVisible } from '../model/access.ts';
import type { Caller } from '../model/access.ts';
import { databaseNotFound, tableNotFound } from '../model/refusals.ts';
import type { Database, TableRecord } from '../model/table.ts';
import type { Operation, OperationRequest, Reply, RequestFacts } from '../operations/operation.ts';
import type { Services } from '../operations/services.ts';
import { isOverwrite } from '../operations/shared/parameters.ts';
import { withoutMainBranch } from '../operations/shared/table-state.ts';
import { checkDeclared } from '../operations/tables/declared-tables.ts';
import { resolveTarget } from './target.ts';

/** The input of an operation, decoded from an HTTP request or built by another front end. */
export interface Input extends Omit<
  OperationRequest,
  'caller' | 'write' | 'branchId' | 'table' | 'path' | 'namespace'
> {
  /** On the clock of `performance.now`: lookups see the catalog as of then or later. */
  readonly arrivedAt: number;
  /** Decoded by `decodeBody`; empty if there is no body. */
  readonly body: Readonly<Record<string, unknown>>;
  /** Identifies the request apart from its body, such as its URL; part of its digest. */
  readonly address: string;
  /** The digest of an Arrow body after it was read; part of the request's digest. */
  readonly streamDigest?: () => string;
  /** Forwards the request to the node that owns the table; `undefined` if this one does. Absent on a single node. */
  readonly forward?: ((table: TableRecord) => Promise<Reply | undefined>) | undefined;
  /** How long the previous name of a renamed table still resolves, for this request. */
  readonly renamedSeconds: number;
}

export interface InvokeDependencies {
  readonly services: Services;
  readonly writeGate: WriteGate;
}

/**
 * Executes one operation for a caller, independently of the protocol: resolves and authorizes the target, checks the
 * conditions of a write, then runs the operation. Admission control and rate limits are up to the front end, which also
 * marks the `response` of the reply right before it sends it, or releases it (`writes.responses`): until then, an
 * identical request waits.
 */
export async function invoke(
  operation: Operation,
  caller: Caller,
  input: Input,
  { services, writeGate }: InvokeDependencies,
): Promise<Reply> {
  const resolved = await resolveTarget(operation, caller, input, services.catalog);
  const forwarded = await forward(operation, input, resolved, services.catalog);
  if (forwarded !== undefined) return forwarded;
  // Data that another program wrote is checked before the engine reads it.
  const isUnchecked = resolved.table?.isDeclared === true && operation.ignoresData === undefined;
  const target = isUnchecked ? { ...resolved, table: await checkDeclared(resolved.table, services) } : resolved;
  if (isWrite(operation)) writeGate.requireLock();
  if (changesTables(operation)) writeGate.requireOpen(input.database?.root);
  const named = isWrite(operation) ? withoutMainBranch(input) : input;
  const branchId = namesBranch(operation) ? await findBranchId(target.table, named, services) : undefined;
  const write = readWriteRequest(operation, caller, input, [target.table?.id, branchId]);
  const request = { ...named, ...target, caller, write, branchId };
  refuseIgnoredCondition(operation, input);
  const begun = changesTables(operation) ? services.sizeQuotas.begin(request, readReplacement(request)) : undefined;
  const sized = begun && (await begun);
  try {
    if (sized === undefined) return await operation.run(request, services);
    return await operation.run({ ...request, write: { ...write, admit: sized.admit } }, services);
  } catch (error) {
    throw await explainFailure(error, request, services.catalog);
  } finally {
    await sized?.end();
  }
}

function namesBranch(operation: Operation): boolean {
  return isWrite(operation) && operation.startsBranches !== true;
}

/** The id of the branch that a write names; `undefined` for the main branch. */
async function findBranchId(
  table: TableRecord | undefined,
  { body, query }: Pick<Input, 'body' | 'query'>,
  { engine }: Services,
): Promise<string | undefined> {
  const branch = body['branch'] ?? query['branch'];
  // A table that is only declared has no branches; the operation will refuse it.
  if (table === undefined || table.isDeclared === true || typeof branch !== 'string') return undefined;
  return engine.versions.identifyBranch(table.location, branch);
}

/** A create replaces the data of a table, a registration the table itself. */
function readReplacement({ path, query, body }: OperationRequest): 'data' | 'table' | undefined {
  if (path === undefined) return undefined;
  if (isOverwrite(query['mode'])) return 'data';
  return isOverwrite(body?.['mode']) ? 'table' : undefined;
}

/** Writes of a table run on the node that owns it, and so does a create that may replace one. */
async function forward(
  operation: Operation,
  input: Input,
  { table, path }: Pick<OperationRequest, 'table' | 'path'>,
  { tables }: Catalog,
): Promise<Reply | undefined> {
  if (input.forward === undefined || !changesTables(operation)) return undefined;
  const isReplaced = path !== undefined && isOverwrite(input.query['mode']);
  const written = isReplaced ? await tables.find(input.database?.id ?? '', path) : table;
  return written && input.forward(written);
}

/** A database that is hidden from the caller is refused as if it did not exist. `since`: when the request arrived. */
export async function requireDatabase(
  name: string,
  caller: Caller,
  catalog: Catalog,
  since?: number,
): Promise<Database> {
  const database = await catalog.databases.find(name, since);
  if (database === undefined || !isVisible(caller, name, [])) throw databaseNotFound(name);
  return database;
}

/** If the table was dropped meanwhile, an internal error means that the table does not exist. */
export async function explainFailure(
  error: unknown,
  { table, delimiter }: Pick<OperationRequest, 'table' | 'delimiter'>,
  catalog: Catalog,
): Promise<unknown> {
  if (table === undefined || !(error instanceof ServiceError) || error.kind !== 'Internal') return error;
  try {
    return (await catalog.tables.has(table.id)) ? error : tableNotFound(table.path, delimiter);
  } catch {
    return error;
  }
}

/** Keys and grants can be changed while writes to tables are paused. */
function changesTables({ permission }: Operation): boolean {
  return permission === 'write' || permission === 'manage';
}

function isWrite({ permission }: Operation): boolean {
  return permission !== 'see' && permission !== 'read';
}

function readWriteRequest(
  operation: Operation,
  caller: Caller,
  input: Input,
  target: TargetIds,
): RequestFacts['write'] {
  const { header, requestId, signal } = input;
  let digest: string | undefined;
  return {
    operation: operation.id,
    caller: caller.id,
    requestId,
    key: isWrite(operation) ? readKey(header('idempotency-key')) : undefined,
    expectedVersion: operation.usesPipeline === true ? readExpectedVersion(header('if-match')) : undefined,
    digest: () => (digest ??= digestRequest(operation, caller, input, target)),
    signal,
  };
}

/** A write that ignores its caller's condition must not succeed. */
function refuseIgnoredCondition(operation: Operation, { header }: Input): void {
  if (operation.usesPipeline === true || !isWrite(operation) || header('if-match') === undefined) return;
  throw invalidInput(
    `The operation ${operation.id} does not support If-Match.`,
    'Row writes, column and metadata changes, and restores do.',
  );
}

type TargetIds = readonly [table: string | undefined, branch: string | undefined];

/**
 * Equal digests mean equal requests. Tables and branches are included by id, because they can be removed and created
 * again.
 */
function digestRequest(operation: Operation, caller: Caller, input: Input, [table, branch]: TargetIds): string {
  const { address, database, header, body, streamDigest } = input;
  const content = operation.body.kind === 'arrow' ? streamDigest?.() : JSON.stringify(body);
  if (content === undefined) throw new Error('The body of the request was not hashed.');
  const target = branch === undefined ? table : [table, branch];
  const parts = [caller.id, database?.id, target, operation.id, address, header('if-match'), content];
  return hash('sha256', JSON.stringify(parts), 'base64url');
}

const KEY_CHARACTERS_MAX = 255;

function readKey(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  if (text.length > 0 && text.length <= KEY_CHARACTERS_MAX && /^[\u0020-\u007e]+$/.test(text)) return text;
  throw invalidInput(`The Idempotency-Key must have 1 to ${KEY_CHARACTERS_MAX} printable characters.`);
}

/** With or without the quotes of an entity tag. */
function readExpectedVersion(text: string | undefined): number | undefined {
  if (text === undefined || text.trim() === '*') return undefined;
  const digits = /^"?(\d{1,15})"?$/.exec(text.trim())?.[1];
  if (digits !== undefined) return Number(digits);
  throw invalidInput('If-Match must be a version of the table.', 'Send it as If-Match: "7".');
}
