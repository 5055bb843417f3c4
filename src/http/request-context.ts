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
  /** Absent when no route matched. */
  readonly operation?: Pick<Operation, 'id' | 'path'>;
  /** On the clock of `performance.now`. */
  readonly startedAt?: number;
  /** Chosen by the request's headers when absent. */
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
  /** Of the address, without its query. */
  readonly path: string;
  readonly dialect: Dialect;
  /** From the header, or from the body's context once that is read. */
  requestId: string;
  caller: string | undefined;
  database: string | undefined;
  /** Read from the body; `undefined` before it is read. */
  bytesIn: number | undefined;
  /** Of a JSON request that may be forwarded to another node. */
  body: Uint8Array = NO_BYTES;
  /** The body, once it is read. */
  json: Record<string, unknown> | undefined;
  /** Lookups may be outdated: they only serve to find the node that the request is forwarded to. */
  isFromMemory = false;
  /** Another node may have applied the request. */
  isSent = false;
  /** Until the reply is decided, or streamed. */
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

  /** The memory of the request's body; all of it comes from one budget. Callers who are not known yet count as one. */
  lease(budget: MemoryBudget): MemoryLease {
    return (this.#lease ??= budget.lease(this.caller ?? '', this.signal));
  }

  /** Released when the request has ended, also if its reply is streamed. */
  holdUntilEnd(release: ReleaseSlot | undefined): void {
    if (release !== undefined) (this.#held ??= []).push(release);
  }

  /** A reply without an end must not keep others of its caller waiting. */
  releaseHeld(): void {
    for (const release of this.#held ?? []) release();
    this.#held = undefined;
  }

  /** Before the request is executed anew. */
  restart(): void {
    this.slot?.();
    this.slot = undefined;
    this.releaseHeld();
    this.isFromMemory = false;
  }

  /** Fires when the client disconnects before its reply is sent. Created on demand: most requests need none. */
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
      // Not the address, which may contain what must not be logged.
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
