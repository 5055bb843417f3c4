import type { IncomingMessage } from 'node:http';
import type { Authenticator, Credentials } from '../auth/authenticator.ts';
import { ServiceError } from '../errors/service-error.ts';
import { decodeBody } from '../invoke/decode-body.ts';
import { invoke, requireDatabase } from '../invoke/invoke.ts';
import type { Input, InvokeDependencies } from '../invoke/invoke.ts';
import { isVisible } from '../model/access.ts';
import type { Caller } from '../model/access.ts';
import { DEFAULT_DELIMITER } from '../model/identifier.ts';
import { DEFAULT_DATABASE } from '../model/table.ts';
import type { Database } from '../model/table.ts';
import type { Operation, Reply } from '../operations/operation.ts';
import { toWorkClass } from './admission/admission-control.ts';
import type { AdmissionRequest, WorkClass } from './admission/admission-control.ts';
import type { RefusalCache } from './admission/refusal-cache.ts';
import { toContractBody } from './dialects.ts';
import { NotSent } from './forwarding/forwarder.ts';
import type { Forwarder } from './forwarding/forwarder.ts';
import { isLocal } from './local-fetch.ts';
import { toErrorReply, toPublicError } from './reply/error-reply.ts';
import { toHttpReply } from './reply/reply.ts';
import { bufferReply, isStreamed, sendStream, sendWhole, sendWrite } from './reply/send-reply.ts';
import type { SendDependencies, StreamedReply, WholeReply } from './reply/send-reply.ts';
import type { RequestContext } from './request-context.ts';
import { arrowBody, readSchemaBody } from './request/arrow-body.ts';
import { ARROW_STREAM, readJsonBody, requireMediaType } from './request/body.ts';
import {
  hasCredential,
  headerReader,
  readDatabaseName,
  readHeaderCredentials,
  readIdentity,
  readPrefix,
  readRequestId,
  refuseDoubledHeaders,
} from './request/headers.ts';
import { requireOwnPage } from './request/own-host.ts';
import type { HostSettings } from './request/own-host.ts';
import { readQueryValues } from './request/url.ts';

export interface HttpDependencies extends InvokeDependencies, SendDependencies, HostSettings {
  readonly services: InvokeDependencies['services'];
  readonly authenticator: Authenticator;
  readonly refusalCache: RefusalCache;
  /** Absent on a single node. */
  readonly forwarder: Forwarder | undefined;
}

/** A request as the router matched it. */
interface RoutedRequest {
  readonly context: RequestContext;
  readonly operation: Operation;
  readonly params: Input['params'];
}

/** The pipeline of a request: execute the operation, then send its reply or the refusal. */
export async function handleRequest(routed: RoutedRequest, http: HttpDependencies): Promise<void> {
  const { context } = routed;
  const isRead = toWorkClass(routed.operation) === 'read';
  let reply: WholeReply | StreamedReply;
  let failure: ServiceError | undefined;
  try {
    const decided = toHttpReply(await executeOrForward(routed, http), context.requestId);
    reply = await bufferReply(decided, { isRead }, http);
    if (reply.response !== undefined && !isStreamed(reply)) await sendWrite(context, reply, reply.response, http);
  } catch (error) {
    failure = toPublicError(error);
    reply = toErrorReply(failure, context, http.forwarder?.headersFor(failure, context.message));
  }
  if (isStreamed(reply)) {
    // A slow client must not block the slot.
    context.slot?.();
    if (reply.isLive === true) context.releaseHeld();
    const outcome = await sendStream(context, reply, http);
    failure = outcome.failure === undefined ? undefined : toPublicError(outcome.failure);
    context.finish(reply.status, outcome.bytes, failure);
    return;
  }
  context.finish(reply.status, Buffer.byteLength(reply.body), failure);
  if (!context.response.headersSent) sendWhole(context, reply, http);
}

/**
 * Forwards a write without catalog queries if the last one to this address was forwarded: the owner looks everything
 * up. If that fails, the cached lookups of this node may be outdated, and the request is executed again.
 */
async function executeOrForward(routed: RoutedRequest, http: HttpDependencies): Promise<Reply> {
  const { context, operation } = routed;
  const { forwarder, services } = http;
  if (operation.target !== 'table' || forwarder?.remembers(context.message) !== true) return execute(routed, http);
  try {
    context.isFromMemory = true;
    return await services.catalog.fromMemory(async () => execute(routed, http));
  } catch (error) {
    if (context.isSent || !mayBeOutdated(error)) throw error;
  }
  forwarder.forget(context.message);
  context.restart();
  return execute(routed, http);
}

function mayBeOutdated(error: unknown): boolean {
  return error instanceof NotSent || (error instanceof ServiceError && OUTDATED_REFUSALS.has(error.kind));
}

/** Refusals that depend on lookups. Unknown credentials are not among them, because they are not cached. */
const OUTDATED_REFUSALS: ReadonlySet<ServiceError['kind']> = new Set([
  'DatabaseNotFound',
  'NamespaceNotFound',
  'TableNotFound',
  'PermissionDenied',
]);

/**
 * The stages of a request. Each does little work until the next has passed: no body is read for an unknown caller, no
 * Arrow body without permission, and under overload no JSON body either. A slow sender of JSON holds no slot.
 */
async function execute(routed: RoutedRequest, http: HttpDependencies): Promise<Reply> {
  const { context, operation, params } = routed;
  const { message, dialect, signal } = context;
  refuseDoubledHeaders(message);

  const { caller, credentials, raw } = await authenticate(routed, http);
  context.caller = caller.id;
  const work = toWorkClass(operation);
  // The forwarding node has already checked and counted the request.
  const isCounted = http.forwarder?.isForwarded(message) !== true;
  // A web page sends no credential of its reader, but without authentication it needs none.
  if (caller.kind === 'anonymous' && isCounted) requireOwnPage(message, http);
  if (isCounted) context.holdUntilEnd(enterCaller(caller, work, context, http));
  const readsJson = isJsonRead(operation, message);
  const admissionRequest = { work, caller: caller.id, signal };
  if (readsJson) shedLoad(routed, admissionRequest, http);

  const database = operation.target === 'server' ? undefined : await findDatabase(routed, caller, http);
  context.database = database?.name;
  if (isCounted && database !== undefined && isVisible(caller, database.name, [])) {
    context.holdUntilEnd(http.load.quotas.enterDatabase(database, work, context.response));
  }

  const { query, queryLists } = readQueryValues(message.url ?? '', operation.query, dialect);
  const delimiter = query['delimiter'] ?? DEFAULT_DELIMITER;
  const json = readsJson ? (raw ?? (await readBody(routed, http.limits.http.jsonBytesMax, http))) : {};
  const client = { userAgent: message.headers['user-agent'], delimiter: query['delimiter'] };
  const body = readsJson ? decodeBody(operation, toContractBody(json, client), dialect, http.services) : json;
  if (operation.body.kind === 'arrow') requireMediaType(message, ARROW_STREAM);

  const admitted = http.load.admission.enter(admissionRequest);
  context.slot = typeof admitted === 'function' ? admitted : await admitted;

  const prefix = readPrefix(message, delimiter);
  const header = headerReader(message, body['context']);
  const input: Input = {
    requestId: context.requestId,
    arrivedAt: context.startedAt,
    dialect,
    database,
    delimiter,
    prefix,
    params,
    query,
    queryLists,
    header,
    signal,
    reauthenticate: async () => reauthenticate(credentials, http),
    body,
    forward: forwarding(routed, http),
    address: message.url ?? '',
    renamedSeconds: followsRename(routed) ? http.limits.http.renamedSeconds : 0,
  };
  if (operation.body.kind !== 'arrow') return invoke(operation, caller, input, http);
  // A create without a key that overwrites nothing is identified by its name alone.
  const isHashed =
    operation.usesPipeline === true || header('idempotency-key') !== undefined || query['mode'] !== undefined;
  return invoke(operation, caller, { ...input, ...arrowBody(context, isHashed, http) }, http);
}

/** The rate of an internal request is counted with the request that it belongs to. */
function enterCaller(caller: Caller, work: WorkClass, { message, response }: RequestContext, http: HttpDependencies) {
  const { quotas } = http.load;
  return isLocal(message) ? quotas.enterSlot(caller, work, response) : quotas.enterCaller(caller, work, response);
}

async function findDatabase(
  { context, operation }: RoutedRequest,
  caller: Caller,
  { hostSuffix, services: { catalog } }: HttpDependencies,
): Promise<Database> {
  const name = readDatabaseName(context.message, hostSuffix);
  const isOpen = operation.reportsAccess === true && name === DEFAULT_DATABASE;
  const open = isOpen ? await catalog.databases.find(name) : undefined;
  return open ?? requireDatabase(name, caller, catalog, context.startedAt);
}

function forwarding({ context, operation }: RoutedRequest, { forwarder }: HttpDependencies): Input['forward'] {
  if (forwarder === undefined) return undefined;
  const { kind } = operation.body;
  const body = kind === 'arrow' ? ({ kind: 'stream' } as const) : ({ kind: 'whole', bytes: context.body } as const);
  return async (table) => forwarder.forward(context, table, body);
}

/** Refuses early what admission control would refuse anyway. */
function shedLoad(
  { context, operation }: RoutedRequest,
  admissionRequest: AdmissionRequest,
  { load, refusalCache }: HttpDependencies,
): void {
  const refusal = load.admission.findRefusal(admissionRequest);
  if (refusal === undefined) return;
  refusalCache.add({ context, operation, admissionRequest, refusal });
  throw refusal;
}

/**
 * The LanceDB client keeps using the address of a table that it renamed while it keeps the table open. When it opens a
 * table by name, it sends no body.
 */
function followsRename({ context, operation: { followsRename: rule } }: RoutedRequest): boolean {
  if (context.dialect !== 'lancedb' || rule === 'never') return false;
  return rule === undefined || context.message.headers['content-type'] !== undefined;
}

/** A `GET` has no body, even where a `POST` to the same address has one. */
function isJsonRead(operation: Operation, { method }: IncomingMessage): boolean {
  return operation.body.kind === 'json' && method === 'POST';
}

interface Authenticated {
  readonly caller: Caller;
  readonly credentials: Credentials;
  /** The body, if it was searched for a credential. */
  readonly raw?: Record<string, unknown>;
}

async function authenticate(routed: RoutedRequest, http: HttpDependencies): Promise<Authenticated> {
  const { context, operation } = routed;
  const { authenticator, limits } = http;
  const credentials = readHeaderCredentials(context.message);
  if (hasCredential(credentials) || !isJsonRead(operation, context.message)) {
    return { caller: await authenticator.authenticate(credentials), credentials };
  }
  // An unknown caller must not make the service buffer a large body to find a credential.
  const bytesMax = Math.min(limits.http.jsonBytesMax, limits.http.unauthenticatedJsonBytesMax);
  try {
    const raw = await readBody(routed, bytesMax, http);
    const identity = readIdentity(raw);
    return { caller: await authenticator.authenticate(identity), credentials: identity, raw };
  } catch (error) {
    // Faults in a body are reported to known callers only; others first learn about the missing credential.
    if (isMalformed(error)) await authenticator.authenticate(credentials);
    throw error;
  }
}

/** Runs in a separate catalog request: lookups of the current one see the catalog as of its start. */
async function reauthenticate(
  credentials: Credentials,
  { authenticator, services }: HttpDependencies,
): Promise<Caller> {
  const { inRequest } = services.catalog;
  const run = async (): Promise<Caller> => authenticator.authenticate(credentials);
  return inRequest === undefined ? run() : inRequest(run);
}

/** Excludes a body that is too large: the credential may be in the part that was not read. */
function isMalformed(error: unknown): boolean {
  return error instanceof ServiceError && (error.kind === 'InvalidInput' || error.kind === 'UnsupportedMediaType');
}

async function readBody(
  { context, operation }: RoutedRequest,
  bytesMax: number,
  { load, limits, forwarder }: HttpDependencies,
): Promise<Record<string, unknown>> {
  const { message, received: onReceived } = context;
  if (context.json !== undefined) return context.json;
  const lease = context.lease(load.jsonMemory);
  const keep = (bytes: Uint8Array): void => {
    if (forwarder !== undefined) context.body = bytes;
  };
  const ofSchema = operation.body.kind === 'json' ? operation.body.ofSchema : undefined;
  const readArrow = ofSchema && (async (bytes: Uint8Array) => ofSchema(await readSchemaBody(bytes, limits.arrow)));
  const options = { bytesMax, limits: limits.http, load, lease, onReceived, keep, readArrow };
  const body = await readJsonBody(message, options);
  if (body['context'] !== undefined) {
    context.requestId = readRequestId(headerReader(message, body['context'])) ?? context.requestId;
  }
  context.json = body;
  return body;
}
