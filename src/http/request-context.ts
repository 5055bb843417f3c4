import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ErrorName } from '../errors/service-error.ts';
import type { Dialect, Operation } from '../operations/operation.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import type { ReleaseSlot } from './admission/admission-control.ts';
import type { Load } from './admission/load.ts';
import type { MemoryBudget, MemoryLease } from './admission/memory-budget.ts';
import { chooseDialect } from './dialects.ts';
import { arrivedLength } from './request/body.ts';

interface RequestContextOptions extends Pick<RequestContext, 'message' | 'response' | 'requestId'> {
  /** Absent if no route matched. */
  readonly operation?: Pick<Operation, 'id' | 'path'>;
  /** On the clock of `performance.now`. */
  readonly startedAt?: number;
  /** Derived from the request's headers if absent. */
  readonly dialect?: Dialect;
}

const NO_BYTES = new Uint8Array();

interface ContextDependencies {
  readonly load: Load;
  readonly services: { readonly telemetry: Telemetry };
}

/**
 * The state of one request. Its lifecycle:
 *
 *   created   when the request is routed; from then on it is in flight
 *   filled    by the stages of `handle-request.ts`: caller, database, request id, admission slot, memory lease, bytes
 *             received
 *   finished  once, by `finish`, when the reply is decided or, if it is streamed, sent: slot and memory are given back, and
 *             log, metrics and traces get one event
 */
export class RequestContext {
  readonly message: IncomingMessage;
  readonly response: ServerResponse;
  /** The path of the address, without its query. */
  readonly path: string;
  readonly dialect: Dialect;
  /** From the header, or from the body's context once that was read. */
  requestId: string;
  caller: string | undefined;
  database: string | undefined;
  /** Set when the body is read. */
  bytesIn: number | undefined;
  /** The body of a JSON request that may be forwarded to another node. */
  body: Uint8Array = NO_BYTES;
  /** The parsed body, once it was read. */
  json: Record<string, unknown> | undefined;
  /** Lookups may be outdated: they only serve to find the node to forward the request to. */
  isFromMemory = false;
  /** Another node may have applied the request. */
  isSent = false;
  /** Held until the reply is decided, or streamed. */
  slot: ReleaseSlot | undefined;

  readonly #options: RequestContextOptions;
  readonly #dependencies: ContextDependencies;
  /** On the clock of `performance.now`. */
  readonly startedAt: number;
  #lease: MemoryLease | undefined;
  #held: ReleaseSlot[] | undefined;
  #disconnected: AbortController | undefined;

  constructor(options: RequestContextOptions, dependencies: ContextDependencies) {
    const { message, response, requestId, startedAt = performance.now() } = options;
    this.#options = options;
    this.#dependencies = dependencies;
    this.startedAt = startedAt;
    this.message = message;
    this.response = response;
    this.requestId = requestId;
    this.path = message.url?.split('?', 1)[0] ?? '';
    this.dialect = options.dialect ?? chooseDialect(this.path, message.headers['user-agent']);
    dependencies.load.inFlight.begin();
  }

  readonly received = (piece: Uint8Array): void => {
    this.bytesIn = (this.bytesIn ?? 0) + piece.length;
  };

  /** The memory of the request's body, from a single budget. Callers that are not known yet count as one. */
  lease(budget: MemoryBudget): MemoryLease {
    return (this.#lease ??= budget.lease(this.caller ?? '', this.signal));
  }

  /** Released when the request has ended, even if its reply is streamed. */
  holdUntilEnd(release: ReleaseSlot | undefined): void {
    if (release !== undefined) (this.#held ??= []).push(release);
  }

  /** A reply without an end must not block other requests of its caller. */
  releaseHeld(): void {
    for (const release of this.#held ?? []) release();
    this.#held = undefined;
  }

  /** Call it before the request is executed again. */
  restart(): void {
    this.slot?.();
    this.slot = undefined;
    this.releaseHeld();
    this.isFromMemory = false;
  }

  /** Fires if the client disconnects before its reply is sent. Created on demand: most requests need none. */
  readonly signal = (): AbortSignal => {
    const { response } = this;
    if (this.#disconnected === undefined) {
      const controller = new AbortController();
      const abortIfUnsent = (): void => {
        if (!response.writableFinished) controller.abort();
      };
      if (response.closed || response.destroyed) abortIfUnsent();
      else response.once('close', abortIfUnsent);
      this.#disconnected = controller;
    }
    return this.#disconnected.signal;
  };

  finish(status: number, bytesOut: number, failure?: { readonly kind?: ErrorName; readonly cause?: unknown }): void {
    const { message } = this;
    const { operation } = this.#options;
    const { load, services } = this.#dependencies;
    this.slot?.();
    this.releaseHeld();
    this.#lease?.close();
    load.inFlight.end();
    services.telemetry.emit({
      kind: 'request-finished',
      requestId: this.requestId,
      operation: operation?.id,
      method: message.method ?? '',
      dialect: this.dialect,
      // Not the address, which may contain sensitive data.
      route: operation?.path,
      status,
      milliseconds: performance.now() - this.startedAt,
      caller: this.caller,
      database: this.database,
      bytesIn: this.bytesIn ?? arrivedLength(message),
      bytesOut,
      errorKind: failure?.kind,
      cause: failure?.cause,
    });
  }
}
