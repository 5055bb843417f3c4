import type { IncomingMessage } from 'node:http';
import { openArrowStream } from '../arrow/checked-stream.ts';
import type { Authenticator } from '../auth/authenticator.ts';
import type { Catalog } from '../catalog/catalog.ts';
import { ServiceError } from '../errors/service-error.ts';
import { authorize } from '../model/authorize.ts';
import { isPermitted, isVisible } from '../model/caller.ts';
import type { Caller } from '../model/caller.ts';
import { DEFAULT_DELIMITER, namespaceOf } from '../model/identifier.ts';
import type { NamespacePath, TablePath } from '../model/identifier.ts';
import type { Limits } from '../model/limits.ts';
import { databaseNotFound, namespaceNotFound, notPermitted, tableNotFound } from '../model/refusals.ts';
import type { Database, TableRecord } from '../model/table.ts';
import type {
  DatabaseOperation,
  Dialect,
  IngestOperation,
  Operation,
  QueryValues,
  Reply,
  RequestFacts,
  TableOperation,
} from '../operations/operation.ts';
import type { Services } from '../operations/services.ts';
import type { CallerRate } from './caller-rate.ts';
import { readJsonBody, readPieces, refuseDeclaredLength, requireArrowStream } from './body.ts';
import { hasCredential, readHeaderCredentials, readIdentity, refuseDoubledHeaders } from './credentials.ts';
import { readDatabaseName } from './database-name.ts';
import { readNewTablePath, readTablePath } from './path-identifier.ts';
import { readQueryValues } from './query-values.ts';
import { headerReader } from './request-headers.ts';
import { REQUEST_ID_HEADER, readRequestId } from './request-id.ts';
import type { ShapeCheck } from './shape-check.ts';

/** One request as the router hands it over. */
export interface Incoming {
  readonly message: IncomingMessage;
  readonly requestId: string;
  readonly dialect: Dialect;
  /** The identifier in the address, decoded; `undefined` when the route has none. */
  readonly identifier: string | undefined;
}

export interface LifeParts {
  readonly services: Services;
  readonly catalog: Catalog;
  readonly authenticator: Authenticator;
  readonly rate: CallerRate;
  readonly limits: Limits;
  readonly hostSuffix: string | undefined;
}

/** What the way through the house has found out; the log reads it even when the request fails. */
export interface Findings {
  /** Of an Arrow body, which often comes without its length. */
  bytesIn?: number;
  /** When the body's context gave it, because the headers did not. */
  requestId?: string;
  caller?: string;
  database?: string;
}

/**
 * The life of a request, from top to bottom: who asks, about which database, with what body, about which object, may they,
 * and then the operation itself. Nothing is read for a caller who is not known, and no Arrow body for one who may not.
 */
export async function answer(
  incoming: Incoming,
  route: { readonly operation: Operation; readonly bodyCheck: ShapeCheck | undefined },
  parts: LifeParts,
  findings: Findings,
): Promise<Reply> {
  const { operation } = route;
  refuseDoubledHeaders(incoming.message);
  const { caller, body } = await authenticate(incoming, operation, parts, findings);
  findings.caller = caller.id;
  parts.rate.take(caller.id);

  const database = await findDatabase(incoming, caller, parts);
  findings.database = database.name;

  const query = readQueryValues(incoming.message.url ?? '', operation.query, incoming.dialect);
  const facts: Facts = {
    requestId: incoming.requestId,
    dialect: incoming.dialect,
    caller,
    database,
    delimiter: query['delimiter'] ?? DEFAULT_DELIMITER,
    query,
    header: headerReader(incoming.message, body?.['context']),
  };
  switch (operation.target) {
    case 'table':
      return aboutTable({ incoming, facts, operation, bodyCheck: route.bodyCheck, body, findings }, parts);
    case 'new-table':
      return aboutNewTable({ incoming, facts, operation, findings }, parts);
    case 'database':
      return aboutDatabase({ facts, operation }, parts);
  }
}

interface Facts extends RequestFacts {
  readonly query: QueryValues;
}

interface Authenticated {
  readonly caller: Caller;
  /** Already read, when the credential had to be looked for in it. */
  readonly body: Record<string, unknown> | undefined;
}

async function authenticate(
  incoming: Incoming,
  operation: Operation,
  parts: LifeParts,
  findings: Findings,
): Promise<Authenticated> {
  const credentials = readHeaderCredentials(incoming.message);
  if (hasCredential(credentials) || operation.body.kind !== 'json') {
    return { caller: await parts.authenticator.authenticate(credentials), body: undefined };
  }
  // A stranger may not make us hold a large body only to look for a credential in it.
  const bytesMax = Math.min(parts.limits.http.jsonBytesMax, parts.limits.http.strangerJsonBytesMax);
  try {
    const body = await readBody(incoming, bytesMax, parts, findings);
    return { caller: await parts.authenticator.authenticate(readIdentity(body)), body };
  } catch (error) {
    // What is wrong with a body is for callers who are known; a stranger hears of the missing credential first.
    if (isMalformed(error)) await parts.authenticator.authenticate(credentials);
    throw error;
  }
}

/** A body past a bound is told as it is: the credential may be in the part that was not read. */
function isMalformed(error: unknown): boolean {
  return error instanceof ServiceError && (error.kind === 'InvalidInput' || error.kind === 'UnsupportedMediaType');
}

async function readBody(
  { message }: Incoming,
  bytesMax: number,
  parts: LifeParts,
  findings: Findings,
): Promise<Record<string, unknown>> {
  const body = await readJsonBody(message, { bytesMax, limits: parts.limits.http });
  const requestId = readRequestId(headerReader(message, body['context'])(REQUEST_ID_HEADER));
  if (requestId !== undefined) findings.requestId = requestId;
  return body;
}

/** A database that the caller may not see answers like one that is not there. */
async function findDatabase(incoming: Incoming, caller: Caller, parts: LifeParts): Promise<Database> {
  const name = readDatabaseName(incoming.message, parts.hostSuffix);
  const database = await parts.catalog.databases.find(name);
  if (database === undefined || !isVisible(caller, name, [])) throw databaseNotFound(name);
  return database;
}

interface AboutTable {
  readonly incoming: Incoming;
  readonly facts: Facts;
  readonly operation: TableOperation;
  readonly bodyCheck: ShapeCheck | undefined;
  readonly body: Record<string, unknown> | undefined;
  readonly findings: Findings;
}

async function aboutTable(about: AboutTable, parts: LifeParts): Promise<Reply> {
  const { incoming, operation, findings } = about;
  const body = await decodeBody(about, parts);
  const facts = {
    ...about.facts,
    requestId: findings.requestId ?? incoming.requestId,
    header: headerReader(incoming.message, body['context']),
  };
  const path = readTablePath(incoming, facts.delimiter, body['id']);
  const table = await findPermittedTable(facts, operation, path, parts);
  return operation.run({ ...facts, table, body }, parts.services);
}

async function decodeBody(about: AboutTable, parts: LifeParts): Promise<Record<string, unknown>> {
  const { incoming, operation, facts, findings } = about;
  const raw = about.body ?? (await readBody(incoming, parts.limits.http.jsonBytesMax, parts, findings));
  const named = dropNulls(raw);
  const body = operation.body.normalize?.(named) ?? named;
  // Newer LanceDB clients add fields; the contract's callers want a misspelt one refused.
  const ignored = about.bodyCheck?.check(body, facts.dialect === 'lancedb') ?? [];
  if (ignored.length > 0) {
    parts.services.telemetry.emit({ kind: 'unknown-fields-ignored', operation: operation.id, names: ignored });
  }
  return body;
}

/** A field that is null is a field that was not given. */
function dropNulls(body: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null));
}

/** Hidden and absent look the same; what is seen but not permitted says so. */
async function findPermittedTable(
  facts: Facts,
  operation: TableOperation,
  path: TablePath,
  parts: LifeParts,
): Promise<TableRecord> {
  const { caller, database, delimiter } = facts;
  const decision = authorize(caller, operation.permission, { database: database.name, path, kind: 'table' });
  if (decision === 'hidden') throw tableNotFound(path, delimiter);
  const table = await parts.catalog.tables.find(database.id, path);
  if (table === undefined) throw tableNotFound(path, delimiter);
  if (decision === 'forbidden') throw notPermitted(operation.permission);
  return table;
}

interface AboutNewTable {
  readonly incoming: Incoming;
  readonly facts: Facts;
  readonly operation: IngestOperation;
  readonly findings: Findings;
}

async function aboutNewTable(about: AboutNewTable, parts: LifeParts): Promise<Reply> {
  const { incoming, facts, operation, findings } = about;
  const { message } = incoming;
  requireArrowStream(message);
  const path = readNewTablePath(incoming, facts.delimiter, operation.identifier);
  await requireNewTable(facts, operation, path, parts);
  const source = countBytes(readPieces(message, parts.limits.http.bodyIdleSeconds), findings);
  let stream: ReturnType<typeof openArrowStream> | undefined;
  const openStream = async (): ReturnType<typeof openArrowStream> => {
    refuseDeclaredLength(message, parts.limits.arrow.streamBytesMax);
    return (stream ??= openArrowStream(source, parts.limits.arrow));
  };
  return operation.run({ ...facts, path, openStream }, parts.services);
}

async function* countBytes(source: AsyncIterable<Uint8Array>, findings: Findings): AsyncGenerator<Uint8Array> {
  for await (const piece of source) {
    findings.bytesIn = (findings.bytesIn ?? 0) + piece.length;
    yield piece;
  }
}

/** A namespace that the caller may not see answers like one that is not there. */
async function requireNewTable(
  facts: Facts,
  operation: IngestOperation,
  path: TablePath,
  parts: LifeParts,
): Promise<void> {
  const { caller, database, delimiter } = facts;
  const namespace = namespaceOf(path);
  const isThere =
    isVisible(caller, database.name, namespace) && (await parts.catalog.namespaces.exists(database.id, namespace));
  if (!isThere) throw namespaceNotFound(namespace, delimiter);
  if (!isPermitted(caller, operation.permission, database.name, path)) throw notPermitted(operation.permission);
}

interface AboutDatabase {
  readonly facts: Facts;
  readonly operation: DatabaseOperation;
}

async function aboutDatabase(about: AboutDatabase, parts: LifeParts): Promise<Reply> {
  const { facts, operation } = about;
  const root: NamespacePath = [];
  if (!isPermitted(facts.caller, operation.permission, facts.database.name, root)) {
    throw notPermitted(operation.permission);
  }
  return operation.run({ ...facts, path: root }, parts.services);
}
