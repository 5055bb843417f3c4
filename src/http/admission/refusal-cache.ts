import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Dialect, Operation } from '../../operations/operation.ts';
import type { Telemetry } from '../../telemetry/telemetry.ts';
import type { AdmissionControl, AdmissionRequest } from './admission-control.ts';
import { DISCARD_BOUNDS, discardRest } from '../request/body.ts';
import { commonHeaders } from '../reply/reply.ts';
import type { Outgoing } from '../reply/reply.ts';
import { chooseRequestId } from '../request/headers.ts';

/** A request that was refused for want of a place, and how. */
export interface RefusedRequest {
  readonly message: IncomingMessage;
  readonly admissionRequest: Pick<AdmissionRequest, 'work' | 'caller'>;
  readonly operation: Operation;
  readonly dialect: Dialect;
  readonly outgoing: Outgoing & { readonly body: string };
}

export interface KnownFloodOptions {
  readonly admission: AdmissionControl;
  readonly telemetry: Telemetry;
  /** False when each request must go the whole way, such as for a trace of it, or a reply that closes its connection. */
  readonly isAllowed: () => boolean;
  /** Milliseconds on a clock that only runs forward. */
  readonly now: () => number;
}

interface Known extends Omit<RefusedRequest, 'message'> {
  readonly until: number;
  readonly method: string;
  /** Those that got this reply, and have not been told of yet. */
  readonly untold: { count: number; bytesIn: number; bytesOut: number };
}

/** After it, one request of each kind goes the whole way again: the credential is looked at anew. */
const KNOWN_MILLISECONDS = 1000;
const KNOWN_MAX = 256;

/**
 * In a flood most requests are like others that have just been refused: the same address, the same credential. They get
 * the same reply for as long as their caller would have to wait for too long, before anything is done for them, and are
 * told of together; that leaves the processors to those that are served.
 */
export class RefusalCache {
  readonly #options: KnownFloodOptions;
  readonly #known = new Map<string, Known>();
  /** Those with something to tell. */
  readonly #untold = new Set<Known>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: KnownFloodOptions) {
    this.#options = options;
  }

  note({ message, ...refused }: RefusedRequest): void {
    // A credential inside the body is not seen here, and two callers would be taken for one.
    if (message.headers['x-api-key'] === undefined && message.headers.authorization === undefined) return;
    if (this.#known.size >= KNOWN_MAX) this.#known.clear();
    const until = this.#options.now() + KNOWN_MILLISECONDS;
    const untold = { count: 0, bytesIn: 0, bytesOut: 0 };
    this.#known.set(keyOf(message), { ...refused, until, method: message.method ?? '', untold });
  }

  /** Puts itself before whoever answers the requests of the server. */
  guard(server: Server): void {
    const [handle] = server.listeners('request');
    server.removeAllListeners('request');
    server.on('request', (message: IncomingMessage, response: ServerResponse) => {
      if (!this.#refuses(message, response)) handle?.call(server, message, response);
    });
  }

  #refuses(message: IncomingMessage, response: ServerResponse): boolean {
    const { admission, isAllowed, now } = this.#options;
    if (this.#known.size === 0 || !isAllowed()) return false;
    const key = keyOf(message);
    const known = this.#known.get(key);
    if (known === undefined) return false;
    if (now() > known.until) this.#known.delete(key);
    else if (admission.findRefusal(known.admissionRequest) !== undefined) {
      // By then the parser has seen the end of a small body, and nothing is left to be thrown away.
      process.nextTick(() => this.#answer(message, response, known));
      return true;
    }
    return false;
  }

  #answer(message: IncomingMessage, response: ServerResponse, known: Known): void {
    const { status, headers, body } = known.outgoing;
    const bytesOut = Buffer.byteLength(body);
    discardRest(message, DISCARD_BOUNDS);
    response.writeHead(status, { ...headers, ...commonHeaders(chooseRequestId(message)), 'content-length': bytesOut });
    response.end(body);
    const { untold } = known;
    untold.count += 1;
    untold.bytesIn += Number(message.headers['content-length'] ?? 0);
    untold.bytesOut += bytesOut;
    this.#untold.add(known);
    if (this.#untold.size >= KNOWN_MAX) this.tell();
    else this.#timer ??= setTimeout(() => this.tell(), KNOWN_MILLISECONDS).unref();
  }

  /** Of all that were answered here and not told of yet, one event for each kind; otherwise it waits for a second. */
  tell(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (const { operation, dialect, method, admissionRequest, outgoing, untold } of this.#untold) {
      this.#options.telemetry.emit({
        kind: 'requests-refused',
        operation: operation.id,
        method,
        dialect,
        route: operation.path,
        status: outgoing.status,
        caller: admissionRequest.caller,
        errorKind: 'ServiceUnavailable',
        ...untold,
      });
      Object.assign(untold, { count: 0, bytesIn: 0, bytesOut: 0 });
    }
    this.#untold.clear();
  }
}

/** All that the refusal of a request depends on. No line break can stand in any of it. */
function keyOf({ method, url, headers }: IncomingMessage): string {
  return [method, url, headers['x-api-key'], headers.authorization, headers['user-agent']].join('\n');
}
