import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Dialect, Operation } from '../operations/operation.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import type { Admission, Arriving } from './admission.ts';
import { DISCARD_BOUNDS, discardRest } from './body.ts';
import { commonHeaders } from './reply.ts';
import type { Outgoing } from './reply.ts';
import { chooseRequestId } from './request-id.ts';

/** A request that was refused for want of a place, and how. */
export interface RefusedRequest {
  readonly message: IncomingMessage;
  readonly arriving: Pick<Arriving, 'work' | 'caller'>;
  readonly operation: Operation;
  readonly dialect: Dialect;
  readonly outgoing: Outgoing & { readonly body: string };
}

export interface KnownFloodOptions {
  readonly admission: Admission;
  readonly telemetry: Telemetry;
  /** False when each request must go the whole way, such as for a trace of it, or a reply that closes its connection. */
  readonly isAllowed: () => boolean;
  /** Milliseconds on a clock that only runs forward. */
  readonly now: () => number;
}

interface Known extends Omit<RefusedRequest, 'message'> {
  readonly until: number;
}

/** After it, one request of each kind goes the whole way again: the credential is looked at anew. */
const KNOWN_MILLISECONDS = 1000;
const KNOWN_MAX = 256;

/**
 * In a flood most requests are like others that have just been refused: the same address, the same credential. They get
 * the same reply for as long as their caller would have to wait for too long, before anything is done for them; that
 * leaves the processors to those that are served.
 */
export class KnownFlood {
  readonly #options: KnownFloodOptions;
  readonly #known = new Map<string, Known>();

  constructor(options: KnownFloodOptions) {
    this.#options = options;
  }

  note({ message, ...refused }: RefusedRequest): void {
    // A credential inside the body is not seen here, and two callers would be taken for one.
    if (message.headers['x-api-key'] === undefined && message.headers.authorization === undefined) return;
    if (this.#known.size >= KNOWN_MAX) this.#known.clear();
    this.#known.set(keyOf(message), { ...refused, until: this.#options.now() + KNOWN_MILLISECONDS });
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
    const startedAt = now();
    const key = keyOf(message);
    const known = this.#known.get(key);
    if (known === undefined) return false;
    if (startedAt > known.until) this.#known.delete(key);
    else if (admission.findRefusal(known.arriving) !== undefined) {
      // By then the parser has seen the end of a small body, and nothing is left to be thrown away.
      process.nextTick(() => this.#answer({ message, response, known, startedAt }));
      return true;
    }
    return false;
  }

  #answer({ message, response, known, startedAt }: Answering): void {
    const { telemetry, now } = this.#options;
    const requestId = chooseRequestId(message);
    const { status, headers, body } = known.outgoing;
    const bytesOut = Buffer.byteLength(body);
    discardRest(message, DISCARD_BOUNDS);
    response.writeHead(status, { ...headers, ...commonHeaders(requestId), 'content-length': bytesOut });
    response.end(body);
    telemetry.emit({
      kind: 'request-finished',
      requestId,
      operation: known.operation.id,
      method: message.method ?? '',
      dialect: known.dialect,
      route: known.operation.path,
      status,
      milliseconds: now() - startedAt,
      caller: known.arriving.caller,
      database: undefined,
      bytesIn: Number(message.headers['content-length'] ?? 0),
      bytesOut,
      errorKind: 'ServiceUnavailable',
      cause: undefined,
    });
  }
}

interface Answering {
  readonly message: IncomingMessage;
  readonly response: ServerResponse;
  readonly known: Known;
  readonly startedAt: number;
}

/** All that the refusal of a request depends on. No line break can stand in any of it. */
function keyOf({ method, url, headers }: IncomingMessage): string {
  return [method, url, headers['x-api-key'], headers.authorization, headers['user-agent']].join('\n');
}
