import { createHash } from 'node:crypto';
import type { Hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { openArrowStream, pullFirst } from '../arrow/stream/checked-stream.ts';
import type { Authenticator } from '../auth/authenticator.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { WriteGate } from '../coordination/write-gate.ts';
import { ServiceError } from '../errors/service-error.ts';
import { isVisible } from '../model/access.ts';
import type { Caller } from '../model/access.ts';
import { DEFAULT_DELIMITER } from '../model/identifier.ts';
import type { ArrowLimits, Limits } from '../model/limits.ts';
import { databaseNotFound } from '../model/refusals.ts';
import type { Database } from '../model/table.ts';
import type { Dialect, Operation, Reply } from '../operations/operation.ts';
import type { Services } from '../operations/services.ts';
import type { AdmissionRequest, Leave } from './admission/admission-control.ts';
import type { MemoryLease, MemoryBudget } from './admission/memory-budget.ts';
import type { RateLimit } from './admission/rate-limit.ts';
import type { Load } from './admission/load.ts';
import { readJsonBody, readPieces, refuseDeclaredLength, requireArrowStream } from './request/body.ts';
import {
  hasCredential,
  readHeaderCredentials,
  readIdentity,
  refuseDoubledHeaders,
  readDatabaseName,
  headerReader,
  REQUEST_ID_HEADER,
  readRequestId,
} from './request/headers.ts';
import type { Pace } from './admission/slow-clients.ts';
import { LeasedMemory } from './admission/paid-memory.ts';
import { readPrefix, aboutServer, explainFailure, resolveTarget } from '../invoke/target.ts';
import { readQueryValues } from './request/url.ts';
import type { ShapeCheck } from '../invoke/shape-check.ts';
import { isDataWrite, toWorkClass } from './admission/admission-control.ts';
import { readWriteRequest, refuseCondition } from '../invoke/write-request.ts';

/** One request as the router hands it over. */
export interface Incoming {
  readonly message: IncomingMessage;
  readonly requestId: string;
  readonly dialect: Dialect;
  /** The parts of the address that the operation's path names, decoded. */
  readonly params: Readonly<Record<string, string>>;
  /** Fires when the client has gone before its reply was out. */
  readonly signal: () => AbortSignal;
}

export interface LifeParts {
  readonly services: Services;
  readonly catalog: Catalog;
  readonly authenticator: Authenticator;
  readonly rate: RateLimit;
  readonly load: Load;
  readonly writeGate: WriteGate;
  readonly limits: Limits;
  readonly hostSuffix: string | undefined;
}

/** What the way through the house has found out; the log reads it even when the request fails. */
export interface Findings {
  /** Of an Arrow body, which often comes without its length. */
  bytesIn?: number;
  /** When the body's context gave it, because the headers did not. */
  requestId?: string;
  /** Of an Arrow body of rows to be written, as far as it has come. */
  bodyHash?: Hash;
  caller?: string;
  database?: string;
  /** When there was no hope of a place: the next one like it need not come so far. */
  refusedFor?: AdmissionRequest;
  /** What the request holds until its reply is out. */
  leave?: Leave;
  account?: MemoryLease;
}

export interface Route {
  readonly operation: Operation;
  /** Of operations that read JSON. */
  readonly bodyCheck: ShapeCheck | undefined;
}

/**
 * The life of a request, from top to bottom: who asks, about which database, with what body, about which object, may they,
 * is there room, and then the operation itself. Until there is, it has cost little: a slow sender of JSON holds no place,
 * and when there is far too much to do, nobody's body is read to find that out.
 * Nothing is read for a caller who is not known, and no Arrow body for one who may not.
 */
export async function answer(incoming: Incoming, route: Route, parts: LifeParts, findings: Findings): Promise<Reply> {
  const { operation } = route;
  const { message, dialect, params, signal } = incoming;
  refuseDoubledHeaders(message);
  const { caller, raw } = await authenticate(incoming, operation, parts, findings);
  findings.caller = caller.id;
  parts.rate.take(caller.id);
  const admissionRequest = { work: toWorkClass(operation), caller: caller.id, signal };
  const readsJson = isJsonRead(operation, message);
  if (readsJson) refuseEarly(admissionRequest, parts, findings);

  const database = operation.target === 'server' ? undefined : await findDatabase(incoming, caller, parts);
  if (database !== undefined) findings.database = database.name;

  const { query, queryLists } = readQueryValues(message.url ?? '', operation.query, dialect);
  const delimiter = query['delimiter'] ?? DEFAULT_DELIMITER;
  const body = readsJson ? await decodeBody(incoming, { route, raw }, parts, findings) : {};
  if (operation.body.kind === 'arrow') requireArrowStream(message);
  const entered = parts.load.admission.enter(admissionRequest);
  findings.leave = typeof entered === 'function' ? entered : await entered;

  const prefix = readPrefix(message, delimiter);
  const identifier = params['id'] ?? '';
  const bodyId = readsJson ? body['id'] : undefined;
  const renamedSeconds = followsRename(incoming, operation) ? parts.limits.http.renamedSeconds : 0;
  const asked = { operation, caller, delimiter, prefix, identifier, bodyId, renamedSeconds };
  const subject =
    database === undefined ? aboutServer(asked) : await resolveTarget({ ...asked, database }, parts.catalog);
  const header = headerReader(message, body['context']);
  const requestId = findings.requestId ?? incoming.requestId;
  const hash = (): Hash | undefined => findings.bodyHash;
  const tableId = 'table' in subject ? subject.table?.id : undefined;
  const identified = { operation, message, header, requestId, caller, database, tableId, body, signal, hash };
  const write = readWriteRequest(identified);
  // A create that overwrites nothing, and has no key, is recognised by its name alone.
  const isHashed = operation.usesPipeline === true || write.key !== undefined || query['mode'] !== undefined;
  const request = {
    requestId,
    write,
    dialect,
    caller,
    ...(database === undefined ? {} : { database }),
    delimiter,
    prefix,
    params,
    query,
    queryLists,
    signal,
    body,
    header,
    openStream: streamOpener(message, isHashed, parts, findings),
    ...subject,
  };
  if (isDataWrite(operation)) parts.writeGate.requireOpen(database?.root);
  refuseCondition(operation, header);
  try {
    return await operation.run(request, parts.services);
  } catch (error) {
    throw await explainFailure(error, request, parts.catalog);
  }
}

/** Before anything is done for a request that has no hope of a place. */
function refuseEarly(admissionRequest: AdmissionRequest, { load }: LifeParts, findings: Findings): void {
  const refusal = load.admission.findRefusal(admissionRequest);
  if (refusal === undefined) return;
  findings.refusedFor = admissionRequest;
  throw refusal;
}

/**
 * The LanceDB client keeps the address of a table that it has renamed for as long as it keeps the table open. When it
 * opens a table by name it sends no body.
 */
function followsRename({ dialect, message }: Incoming, { followsRename: rule }: Operation): boolean {
  if (dialect !== 'lancedb' || rule === 'never') return false;
  return rule === undefined || message.headers['content-type'] !== undefined;
}

/** A `GET` has no body, also where a `POST` to the same address has one. */
function isJsonRead(operation: Operation, message: IncomingMessage): boolean {
  return operation.body.kind === 'json' && message.method === 'POST';
}

interface Authenticated {
  readonly caller: Caller;
  /** The body, already read, when the credential had to be looked for in it. */
  readonly raw: Record<string, unknown> | undefined;
}

async function authenticate(
  incoming: Incoming,
  operation: Operation,
  parts: LifeParts,
  findings: Findings,
): Promise<Authenticated> {
  const credentials = readHeaderCredentials(incoming.message);
  if (hasCredential(credentials) || !isJsonRead(operation, incoming.message)) {
    return { caller: await parts.authenticator.authenticate(credentials), raw: undefined };
  }
  // A stranger may not make us hold a large body only to look for a credential in it.
  const bytesMax = Math.min(parts.limits.http.jsonBytesMax, parts.limits.http.unauthenticatedJsonBytesMax);
  try {
    const raw = await readBody(incoming, bytesMax, parts, findings);
    return { caller: await parts.authenticator.authenticate(readIdentity(raw)), raw };
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
  const account = openAccount(parts.load.jsonMemory, findings);
  const body = await readJsonBody(message, { bytesMax, limits: parts.limits.http, account });
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

interface Undecoded {
  readonly route: Route;
  readonly raw: Record<string, unknown> | undefined;
}

async function decodeBody(
  incoming: Incoming,
  { route, raw }: Undecoded,
  parts: LifeParts,
  findings: Findings,
): Promise<Record<string, unknown>> {
  const { operation, bodyCheck } = route;
  const read = raw ?? (await readBody(incoming, parts.limits.http.jsonBytesMax, parts, findings));
  const named = dropNulls(read);
  const body = operation.body.kind === 'json' ? (operation.body.normalize?.(named) ?? named) : named;
  // Newer LanceDB clients add fields; the contract's callers want a misspelt one refused.
  const ignored = bodyCheck?.check(body, incoming.dialect === 'lancedb') ?? [];
  if (ignored.length > 0) {
    parts.services.telemetry.emit({ kind: 'unknown-fields-ignored', operation: operation.id, names: ignored });
  }
  return body;
}

/** A field that is null is a field that was not given. */
function dropNulls(body: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null));
}

/** Up to here a body is read whole first: a bad one then takes no name, no turn and no note in the journal. */
const SHORT_BYTES = 64 * 1024;

/** Nothing of an Arrow body is read before the operation asks for it. */
function streamOpener(
  message: IncomingMessage,
  isHashed: boolean,
  parts: LifeParts,
  findings: Findings,
): (limits?: Partial<ArrowLimits>) => ReturnType<typeof openArrowStream> {
  let stream: ReturnType<typeof openArrowStream> | undefined;
  return async (changed) => {
    if (stream !== undefined) return stream;
    const limits = { ...parts.limits.arrow, ...changed };
    refuseDeclaredLength(message, limits.streamBytesMax);
    const account = openAccount(parts.load.arrowMemory, findings);
    const { slowSenders, chunkBuffers } = parts.load;
    const onReceived = (piece: Uint8Array): void => {
      findings.bytesIn = (findings.bytesIn ?? 0) + piece.length;
      if (isHashed) (findings.bodyHash ??= createHash('sha256')).update(piece);
    };
    const pace = (giveUp: () => void): Pace => slowSenders.join(giveUp, () => account.heldBytes > 0);
    const pieces = readPieces(message, { limits: parts.limits.http, pace, onReceived });
    const memory = new LeasedMemory({ pool: chunkBuffers, account, message });
    const isShort = Number(message.headers['content-length'] ?? Infinity) <= SHORT_BYTES;
    stream = openArrowStream(pieces, limits, memory).then(async (opened) => (isShort ? pullFirst(opened) : opened));
    return stream;
  };
}

function openAccount(budget: MemoryBudget, findings: Findings): MemoryLease {
  return (findings.account ??= budget.open());
}
