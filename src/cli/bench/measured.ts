import { createHistogram, performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiClient } from '../../client/api-client.ts';
import { ClientError } from '../../client/client-error.ts';
import { dropTable } from '../../client/tables.ts';
import type { TablePath } from '../../model/identifier.ts';
import type { BenchRequest, Kind, Numbered, Plan } from './subjects.ts';

interface Load extends Pick<Plan, 'clients' | 'seconds'> {
  readonly client: ApiClient;
  /** Requests of one kind. */
  readonly request: Numbered<BenchRequest>;
  /** Once aborted, no further requests are sent. */
  readonly stop: AbortSignal;
  readonly onProgress: (operations: number, seconds: number) => void;
}

/** How much longer a request that is in flight at the end may take. */
const GRACE_SECONDS = 60;
const PAUSE_SECONDS_MAX = 1;
const DROP_ATTEMPTS_MAX = 10;
const PROGRESS_MILLISECONDS = 200;

export class Measured {
  readonly kind: Kind;
  readonly latencies = new Latencies();
  /** Replies per second, of all clients together. */
  rate = 0;
  errors = 0;
  firstError: string | undefined;
  bytesSent = 0;
  bytesReceived = 0;
  readonly #load: Load;
  #requests = 0;
  #isBroken = false;

  constructor(kind: Kind, load: Load) {
    this.kind = kind;
    this.#load = load;
  }

  /** Sends requests for some seconds; each client sends the next one when it has read the reply. */
  async run(): Promise<void> {
    await this.#warmUp();
    const { clients, seconds, onProgress } = this.#load;
    const startedAt = performance.now();
    const timeout = AbortSignal.timeout((seconds + GRACE_SECONDS) * 1000);
    const timer = setInterval(() => {
      onProgress(this.latencies.count, (performance.now() - startedAt) / 1000);
    }, PROGRESS_MILLISECONDS);
    const running = Array.from({ length: clients }, async () => this.#runClient(startedAt + seconds * 1000, timeout));
    const ended = await Promise.allSettled(running).finally(() => clearInterval(timer));
    for (const each of ended) if (each.status === 'rejected') throw each.reason;
  }

  /** The first request of a kind opens files and connections, so it is not counted. */
  async #warmUp(): Promise<void> {
    if (this.#load.stop.aborted) return;
    try {
      await this.#execute(AbortSignal.timeout(GRACE_SECONDS * 1000));
    } catch (error) {
      if (!isTransient(error)) throw error;
    }
    this.bytesSent = 0;
    this.bytesReceived = 0;
  }

  async #runClient(endsAt: number, timeout: AbortSignal): Promise<void> {
    let [replies, busy] = [0, 0];
    while (performance.now() < endsAt && !this.#load.stop.aborted && !this.#isBroken) {
      try {
        const milliseconds = await this.#execute(timeout);
        this.latencies.add(milliseconds);
        replies += 1;
        busy += milliseconds;
      } catch (error) {
        if (!isTransient(error)) {
          this.#isBroken = true;
          throw error;
        }
        busy += await this.#recordError(error);
      }
    }
    if (busy > 0) this.rate += (replies * 1000) / busy;
  }

  /** Sends the next request, and returns the milliseconds until the last byte of the reply. */
  async #execute(signal: AbortSignal): Promise<number> {
    const { client, request } = this.#load;
    this.#requests += 1;
    const { address, created, ...call } = request(this.#requests);
    const startedAt = performance.now();
    const reply = await client.open(address, { ...call, signal });
    for await (const piece of client.bytes(reply)) this.bytesReceived += piece.length;
    const milliseconds = performance.now() - startedAt;
    this.bytesSent += call.bytes.length;
    if (created !== undefined) await this.#drop(created);
    return milliseconds;
  }

  async #drop(table: TablePath): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        await dropTable(this.#load.client, table);
        return;
      } catch (error) {
        if (!isTransient(error) || attempt === DROP_ATTEMPTS_MAX) throw error;
        await this.#recordError(error);
      }
    }
  }

  /** Waits as long as a busy server asks for, and returns that time in milliseconds. */
  async #recordError(error: ClientError): Promise<number> {
    this.errors += 1;
    this.firstError ??= `${error.status}: ${error.message}`;
    const milliseconds = Math.min(error.retryAfterSeconds ?? PAUSE_SECONDS_MAX, PAUSE_SECONDS_MAX) * 1000;
    await sleep(milliseconds);
    return milliseconds;
  }
}

/** Errors that load can cause; any other refusal would repeat forever. */
function isTransient(error: unknown): error is ClientError {
  return error instanceof ClientError && (error.status >= 500 || error.status === 429 || error.status === 409);
}

/** Accurate to three digits, so that any number of requests needs the same memory. */
export class Latencies {
  readonly #nanoseconds = createHistogram();

  get count(): number {
    return this.#nanoseconds.count;
  }

  add(milliseconds: number): void {
    this.#nanoseconds.record(Math.max(1, Math.round(milliseconds * 1e6)));
  }

  /** The time in milliseconds within which this share of the requests completed; `undefined` if there were none. */
  quantile(share: number): number | undefined {
    return this.count === 0 ? undefined : this.#nanoseconds.percentile(share * 100) / 1e6;
  }
}
