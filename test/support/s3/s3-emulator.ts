import { createServer } from 'node:http';
import type { IncomingHttpHeaders, IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { BucketObjects } from './bucket-objects.ts';
import { answer } from './s3-operations.ts';
import type { S3Reply } from './s3-operations.ts';
import { isAllowed } from './session-policy.ts';
import { REFUSALS, StoreFaults } from './store-faults.ts';
import type { FaultKind } from './store-faults.ts';
import { SecurityTokens } from './sts.ts';
import { findSignatureFault } from './verify-signature.ts';

export interface S3EmulatorOptions {
  /** Speaks as the XML interface of Google Cloud Storage, for callers with this token; none: for everybody. */
  readonly google?: { readonly token?: string };
  /** Stores an object although it exists, as some compatible stores do. */
  readonly ignoresConditions?: boolean;
  /** Checks conditions, but not atomically: writers that overlap all succeed. */
  readonly racesConditions?: boolean;
  /** Knows If-None-Match only, and says so. */
  readonly refusesIfMatch?: boolean;
  readonly latencyMilliseconds?: number;
  /** What one request copies; S3: 5 GiB. */
  readonly copyBytesMax?: number;
}

export interface LoggedRequest {
  readonly method: string;
  /** `bucket/key`. */
  readonly path: string;
  readonly query: string;
  readonly isConditional: boolean;
  status: number | undefined;
}

const CREDENTIALS = { accessKeyId: 'test-access-key', secretAccessKey: 'test-secret-access-key' };

/** Requests that are remembered. */
const LOG_MAX = 10_000;

/** An S3 of our own in memory, with faults on demand. Every bucket exists. */
export class S3Emulator {
  readonly objects = new BucketObjects();
  readonly faults = new StoreFaults();
  /** AssumeRole is served at the address of the store, as by compatible stores. */
  readonly tokens = new SecurityTokens();
  readonly log: LoggedRequest[] = [];
  latencyMilliseconds: number;
  readonly #options: S3EmulatorOptions;
  readonly #server: Server;

  private constructor(options: S3EmulatorOptions) {
    this.#options = options;
    this.latencyMilliseconds = options.latencyMilliseconds ?? 0;
    this.#server = createServer((request, response) => void this.#serve(request, response));
  }

  /** Closed after the test. */
  static async start(test: { after(work: () => unknown): void }, options: S3EmulatorOptions = {}): Promise<S3Emulator> {
    const emulator = new S3Emulator(options);
    await new Promise<void>((resolve) => emulator.#server.listen(0, '127.0.0.1', resolve));
    test.after(() => emulator.close());
    return emulator;
  }

  get url(): string {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- It listens on a port.
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** For the engine and for us. */
  get storageOptions(): Readonly<Record<string, string>> {
    return {
      aws_endpoint: this.url,
      aws_region: 'eu-test-1',
      allow_http: 'true',
      aws_access_key_id: CREDENTIALS.accessKeyId,
      aws_secret_access_key: CREDENTIALS.secretAccessKey,
    };
  }

  count(match: (request: LoggedRequest) => boolean): number {
    return this.log.filter(match).length;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request) chunks.push(chunk);
    } catch {
      return;
    }
    const url = new URL(request.url ?? '/', 'http://store');
    const method = request.method ?? '';
    const path = decodeURIComponent(url.pathname.slice(1));
    const { google } = this.#options;
    const condition = request.headers[google === undefined ? 'if-none-match' : 'x-goog-if-generation-match'];
    const isConditional = condition === (google === undefined ? '*' : '0');
    const logged: LoggedRequest = { method, path, query: url.search, isConditional, status: undefined };
    this.log.push(logged);
    if (this.log.length > LOG_MAX) this.log.shift();
    const reply = await this.#execute(request, { method, path, url, body: Buffer.concat(chunks), isConditional });
    if (reply === 'reset') {
      request.socket.destroy();
      return;
    }
    if (reply === 'hang') return;
    logged.status = reply.status;
    response.writeHead(reply.status, { ...reply.headers });
    response.end(method === 'HEAD' ? undefined : reply.body);
  }

  async #execute(
    request: IncomingMessage,
    call: { method: string; path: string; url: URL; body: Buffer; isConditional: boolean },
  ): Promise<S3Reply | 'reset' | 'hang'> {
    const { method, path, url, body, isConditional } = call;
    if (this.latencyMilliseconds > 0) await sleep(this.latencyMilliseconds);
    await this.faults.passHolds(method, path);
    const fault = this.faults.take(method, path);
    if (fault === 'hang') return 'hang';
    if (fault === 'error-before') return toError(500, 'InternalError');
    if (fault === 'reset-before') return 'reset';
    if (isRefusal(fault)) {
      const [status, code] = REFUSALS[fault];
      return toError(status, code);
    }
    if (fault === 'conflict') return toError(409, 'ConditionalRequestConflict');
    if (method === 'POST' && path === '') return this.tokens.answer(request, body, CREDENTIALS);
    const denial = this.#findDenial(request, call);
    if (denial !== undefined) return toError(403, denial);
    const isRefused = this.#options.refusesIfMatch === true && request.headers['if-match'] !== undefined;
    if (isRefused) return toError(501, 'NotImplemented');
    const isTaken = (isConditional && this.objects.get(path) !== undefined) || this.#isChanged(request, path);
    if (this.#options.racesConditions === true) await sleep(RACE_MILLISECONDS);
    if (isTaken && this.#options.ignoresConditions !== true) return toError(412, 'PreconditionFailed');
    const { copyBytesMax = Infinity } = this.#options;
    const headers = this.#options.google === undefined ? request.headers : toAmazonNames(request.headers);
    const reply = answer(this.objects, { method, path, query: url.searchParams, headers, body, copyBytesMax });
    if (fault === 'error-after') return toError(500, 'InternalError');
    return fault === 'reset-after' ? 'reset' : reply;
  }

  /** The object is not the one that the request is for. */
  #isChanged({ headers }: IncomingMessage, path: string): boolean {
    const object = this.objects.get(path);
    const { 'if-match': tag, 'x-goog-if-generation-match': generation = '0' } = headers;
    if (this.#options.google !== undefined) return generation !== '0' && generation !== String(object?.generation);
    return tag !== undefined && tag !== object?.tag;
  }

  #findDenial(
    request: IncomingMessage,
    { method, path, url, body }: { method: string; path: string; url: URL; body: Buffer },
  ): string | undefined {
    const { google } = this.#options;
    if (google === undefined) {
      const session = this.tokens.find(request);
      const fault = findSignatureFault(request, body, session ?? CREDENTIALS);
      if (fault !== undefined || session === undefined) return fault;
      const wanted = { method, path, query: url.searchParams, headers: request.headers, body };
      // As S3 does: whether an object exists is told only to those who may list the bucket, without any condition.
      const isRead = ['GET', 'HEAD'].includes(method) && url.search === '';
      const isProbe = isRead && this.objects.get(path) === undefined;
      const mayKnow = !isProbe || isAllowed(session.policy, { ...wanted, query: new URLSearchParams('list-type=2') });
      return mayKnow && isAllowed(session.policy, wanted) ? undefined : 'AccessDenied';
    }
    const isKnown = google.token === undefined || request.headers.authorization === `Bearer ${google.token}`;
    return isKnown ? undefined : 'AccessDenied';
  }
}

/** Copies are asked for by headers of their own. */
function toAmazonNames(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const named = Object.entries(headers).map(([name, value]) => [name.replace(/^x-goog-/, 'x-amz-'), value] as const);
  return Object.fromEntries(named);
}

const RACE_MILLISECONDS = 50;

function isRefusal(fault: FaultKind | undefined): fault is keyof typeof REFUSALS {
  return fault !== undefined && fault in REFUSALS;
}

function toError(status: number, code: string): S3Reply {
  const body = `<?xml version="1.0" encoding="UTF-8"?><Error><Code>${code}</Code></Error>`;
  return { status, headers: { 'content-type': 'application/xml' }, body: Buffer.from(body) };
}
