import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiClient } from '../../client/api-client.ts';
import { tableAddress } from '../../client/calls.ts';
import { ClientError } from '../../client/client-error.ts';
import { dropTable } from '../../client/tables.ts';
import type { TablePath } from '../../model/identifier.ts';
import type { BenchRequest, Kind, Workload } from './workload.ts';

export interface Load {
  readonly client: ApiClient;
  readonly clients: number;
  readonly seconds: number;
  /** When it is aborted, no further request is sent. */
  readonly stop: AbortSignal;
  readonly onProgress: (operations: number, seconds: number) => void;
}

/** How much longer a request that is in flight at the end may take. */
const GRACE_SECONDS = 60;
const PAUSE_SECONDS_MAX = 1;
const DROP_ATTEMPTS_MAX = 10;
const PROGRESS_MILLISECONDS = 200;

/** Sends requests of one kind for some seconds; each client sends the next one when it has read the reply. */
export async function runWorkload(workload: Workload, load: Load): Promise<Measured> {
  const measured = new Measured(workload, load);
  await measured.warmUp();
  await measured.run();
  return measured;
}

/** The figures of one kind of request. */
export class Measured {
  readonly kind: Kind;
  readonly latencies = new Latencies();
  /** Replies per second, of all clients together. */
  rate = 0;
  errors = 0;
  firstError: string | undefined;
  bytesSent = 0;
  bytesReceived = 0;
  readonly #workload: Workload;
  readonly #load: Load;
  #requests = 0;
  #isBroken = false;

  constructor(workload: Workload, load: Load) {
    this.kind = workload.kind;
    this.#workload = workload;
    this.#load = load;
  }

  /** The first request of a kind opens files and connections, and is not counted. */
  async warmUp(): Promise<void> {
    if (this.#load.stop.aborted) return;
    try {
      await this.#execute(this.#nextRequest(), AbortSignal.timeout(GRACE_SECONDS * 1000));
    } catch (error) {
      if (!isTransient(error)) throw error;
    }
    this.bytesSent = 0;
    this.bytesReceived = 0;
  }

  async run(): Promise<void> {
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

  async #runClient(endsAt: number, timeout: AbortSignal): Promise<void> {
    let [replies, busy] = [0, 0];
    while (performance.now() < endsAt && !this.#load.stop.aborted && !this.#isBroken) {
      try {
        const milliseconds = await this.#execute(this.#nextRequest(), timeout);
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

  #nextRequest(): BenchRequest {
    this.#requests += 1;
    return this.#workload.request(this.#requests);
  }

  /** Returns the milliseconds until the last byte of the reply. */
  async #execute({ table, action, query, ...call }: BenchRequest, signal: AbortSignal): Promise<number> {
    const { client } = this.#load;
    const address = tableAddress(table, action);
    const startedAt = performance.now();
    const reply = await client.open(address.path, { query: { ...address.query, ...query }, ...call, signal });
    for await (const piece of client.bytes(reply)) this.bytesReceived += piece.length;
    const milliseconds = performance.now() - startedAt;
    this.bytesSent += call.bytes.length;
    // Dropped again, outside the time that is measured.
    if (action === 'create') await this.#drop(table);
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

  /** Waits as long as a busy server asks for, and returns those milliseconds. */
  async #recordError(error: ClientError): Promise<number> {
    this.errors += 1;
    this.firstError ??= `${error.status}: ${error.message}`;
    const milliseconds = Math.min(error.retryAfterSeconds ?? PAUSE_SECONDS_MAX, PAUSE_SECONDS_MAX) * 1000;
    await sleep(milliseconds);
    return milliseconds;
  }
}

/** Load can cause it; any other refusal would repeat forever. */
function isTransient(error: unknown): error is ClientError {
  return error instanceof ClientError && (error.status >= 500 || error.status === 429 || error.status === 409);
}

const MILLISECONDS_MIN = 0.01;
const GROWTH = 1.01;
/** From 10 µs to more than an hour. */
const BUCKETS = 2048;

/** A histogram with buckets of one percent: any number of requests needs the same memory. */
export class Latencies {
  count = 0;
  max = 0;
  readonly #counts = new Uint32Array(BUCKETS);

  add(milliseconds: number): void {
    const step = Math.round(Math.log(Math.max(milliseconds, MILLISECONDS_MIN) / MILLISECONDS_MIN) / Math.log(GROWTH));
    const bucket = Math.min(step, BUCKETS - 1);
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1;
    this.count += 1;
    this.max = Math.max(this.max, milliseconds);
  }

  /** Milliseconds within which this share of the requests was done; `undefined` when there was none. */
  quantile(share: number): number | undefined {
    if (this.count === 0) return undefined;
    const wanted = Math.max(1, Math.ceil(this.count * share));
    let seen = 0;
    const bucket = this.#counts.findIndex((count) => {
      seen += count;
      return seen >= wanted;
    });
    return Math.min(this.max, MILLISECONDS_MIN * GROWTH ** bucket);
  }
}
