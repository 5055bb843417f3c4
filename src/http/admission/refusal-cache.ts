import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { ServiceError } from '../../errors/service-error.ts';
import type { Operation } from '../../operations/operation.ts';
import type { Telemetry } from '../../telemetry/telemetry.ts';
import type { RequestContext } from '../request-context.ts';
import { discardRest } from '../request/body.ts';
import { chooseRequestId } from '../request/headers.ts';
import { toErrorReply } from '../reply/error-reply.ts';
import { commonHeaders } from '../reply/reply.ts';
import type { TextReply } from '../reply/reply.ts';
import type { AdmissionControl, AdmissionRequest } from './admission-control.ts';

/** A request that admission control refused before its body was read. */
interface RefusedRequest {
  readonly context: Pick<RequestContext, 'message' | 'path' | 'dialect' | 'requestId'>;
  readonly operation: Operation;
  readonly admissionRequest: Pick<AdmissionRequest, 'work' | 'caller'>;
  readonly refusal: ServiceError;
}

interface RefusalCacheOptions {
  readonly admission: AdmissionControl;
  readonly telemetry: Telemetry;
  /** False if every request must take the full path, for example to be traced. */
  readonly isEnabled: () => boolean;
  /** Monotonic milliseconds. */
  readonly now: () => number;
}

interface CachedRefusal extends Omit<RefusedRequest, 'refusal'> {
  readonly reply: TextReply;
  readonly expiresAt: number;
  /** Requests that got this reply and were not reported yet. */
  readonly unreported: { count: number; bytesOut: number };
}

/** Short, because the credential is not verified again until the entry expires. */
const TTL_MILLISECONDS = 1000;
const ENTRIES_MAX = 256;

/**
 * Load shedding for repeated requests. Under overload most requests equal one that was just refused: same address, same
 * credential. While admission control would refuse them too, they get the cached reply before any other work is done.
 */
export class RefusalCache {
  readonly #options: RefusalCacheOptions;
  readonly #entries = new Map<string, CachedRefusal>();
  readonly #unreported = new Set<CachedRefusal>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: RefusalCacheOptions) {
    this.#options = options;
  }

  add({ refusal, ...refused }: RefusedRequest): void {
    const { message } = refused.context;
    // The key does not include a credential in the body, so two callers would share an entry.
    if (message.headers['x-api-key'] === undefined && message.headers.authorization === undefined) return;
    if (this.#entries.size >= ENTRIES_MAX) this.#entries.clear();
    this.#entries.set(keyOf(message), {
      ...refused,
      reply: toErrorReply(refusal, refused.context),
      expiresAt: this.#options.now() + TTL_MILLISECONDS,
      unreported: { count: 0, bytesOut: 0 },
    });
  }

  /** Intercepts the requests of the server. */
  guard(server: Server): void {
    const [handle] = server.listeners('request');
    server.removeAllListeners('request');
    server.on('request', (message: IncomingMessage, response: ServerResponse) => {
      const refusal = this.#entries.size === 0 ? undefined : this.#find(message);
      if (refusal === undefined) handle?.call(server, message, response);
      // On the next tick, the parser has seen the end of a small body, so there is nothing to discard.
      else process.nextTick(() => this.#send(message, response, refusal));
    });
  }

  #find(message: IncomingMessage): CachedRefusal | undefined {
    const { admission, isEnabled, now } = this.#options;
    if (!isEnabled()) return undefined;
    const key = keyOf(message);
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    if (now() > entry.expiresAt) this.#entries.delete(key);
    else if (admission.findRefusal(entry.admissionRequest) !== undefined) return entry;
    return undefined;
  }

  #send(message: IncomingMessage, response: ServerResponse, refusal: CachedRefusal): void {
    const { status, headers, body } = refusal.reply;
    const bytesOut = Buffer.byteLength(body);
    discardRest(message);
    response.writeHead(status, { ...headers, ...commonHeaders(chooseRequestId(message)), 'content-length': bytesOut });
    response.end(body);
    const { unreported } = refusal;
    unreported.count += 1;
    unreported.bytesOut += bytesOut;
    this.#unreported.add(refusal);
    if (this.#unreported.size >= ENTRIES_MAX) this.report();
    else this.#timer ??= setTimeout(() => this.report(), TTL_MILLISECONDS).unref();
  }

  /** Emits one event per entry with unreported requests. Runs automatically after a second. */
  report(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (const { context, operation, admissionRequest, reply, unreported } of this.#unreported) {
      this.#options.telemetry.emit({
        kind: 'requests-refused',
        operation: operation.id,
        method: context.message.method ?? '',
        dialect: context.dialect,
        route: operation.path,
        status: reply.status,
        caller: admissionRequest.caller,
        errorKind: 'ServiceUnavailable',
        // No body is read.
        bytesIn: 0,
        ...unreported,
      });
      Object.assign(unreported, { count: 0, bytesOut: 0 });
    }
    this.#unreported.clear();
  }
}

/** Everything that the refusal of a request depends on. None of the parts can contain a line break. */
function keyOf({ method, url, headers }: IncomingMessage): string {
  return [method, url, headers['x-api-key'], headers.authorization, headers['user-agent']].join('\n');
}
