import { performance } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { tableAddress } from '../../client/calls.ts';
import type { ApiClient } from '../../client/api-client.ts';
import { ClientError, ConnectionError } from '../../client/client-error.ts';
import { dropTable } from '../../client/tables.ts';
import type { TablePath } from '../../model/identifier.ts';
import type { BenchRequest, Kind, Work } from './work.ts';

export interface Load {
  readonly client: ApiClient;
  readonly clients: number;
  readonly seconds: number;
  /** When it is aborted, no further request is sent. */
  readonly stop: AbortSignal;
  readonly onProgress: (done: { readonly operations: number; readonly seconds: number }) => void;
}

export interface Measured {
  readonly kind: Kind;
  readonly latencies: Latencies;
  /** Answers in a second, of all clients together. */
  readonly rate: number;
  readonly errors: number;
  /** What the first of them said. */
  readonly firstError: string | undefined;
  readonly bytesSent: number;
  readonly bytesReceived: number;
}

/** A request that is under way at the end may take this much longer. */
const PATIENCE_SECONDS = 60;
const PAUSE_SECONDS_MAX = 1;
const DROP_ATTEMPTS_MAX = 10;
const PROGRESS_MILLISECONDS = 200;

/** Sends requests of one kind for some seconds; each client sends its next one when the one before was answered whole. */
export async function runWork(work: Work, load: Load): Promise<Measured> {
  const run = new Run(work, load);
  await run.warmUp();
  return run.measure();
}

class Run {
  private readonly work: Work;
  private readonly load: Load;
  private readonly latencies = new Latencies();
  private turn = 0;
  private rate = 0;
  private errors = 0;
  private firstError: string | undefined;
  private bytesSent = 0;
  private bytesReceived = 0;
  private isBroken = false;

  constructor(work: Work, load: Load) {
    this.work = work;
    this.load = load;
  }

  /** The first request of a kind opens files and connections, and is not counted. */
  async warmUp(): Promise<void> {
    if (this.load.stop.aborted) return;
    try {
      await this.carryOut(this.nextRequest(), AbortSignal.timeout(PATIENCE_SECONDS * 1000));
    } catch (error) {
      if (!isPassing(error)) throw error;
    }
    this.bytesSent = 0;
    this.bytesReceived = 0;
  }

  async measure(): Promise<Measured> {
    const { clients, seconds, onProgress } = this.load;
    const startedAt = performance.now();
    const endsAt = startedAt + seconds * 1000;
    const patience = AbortSignal.timeout((seconds + PATIENCE_SECONDS) * 1000);
    const timer = setInterval(() => {
      onProgress({ operations: this.latencies.count, seconds: (performance.now() - startedAt) / 1000 });
    }, PROGRESS_MILLISECONDS);
    const running = Array.from({ length: clients }, async () => this.runClient(endsAt, patience));
    const ended = await Promise.allSettled(running).finally(() => clearInterval(timer));
    for (const each of ended) if (each.status === 'rejected') throw each.reason;
    const { latencies, rate, errors, firstError, bytesSent, bytesReceived } = this;
    return { kind: this.work.kind, latencies, rate, errors, firstError, bytesSent, bytesReceived };
  }

  private async runClient(endsAt: number, patience: AbortSignal): Promise<void> {
    let [answered, busy] = [0, 0];
    while (performance.now() < endsAt && !this.load.stop.aborted && !this.isBroken) {
      const request = this.nextRequest();
      try {
        const milliseconds = await this.carryOut(request, patience);
        this.latencies.add(milliseconds);
        answered += 1;
        busy += milliseconds;
      } catch (error) {
        if (!isPassing(error)) {
          this.isBroken = true;
          throw error;
        }
        busy += await this.noteError(error);
      }
    }
    if (busy > 0) this.rate += (answered * 1000) / busy;
  }

  private nextRequest(): BenchRequest {
    this.turn += 1;
    return this.work.request(this.turn);
  }

  /** Milliseconds until the last byte of the answer. */
  private async carryOut(request: BenchRequest, signal: AbortSignal): Promise<number> {
    const { client } = this.load;
    const { path, query } = tableAddress(request.table, request.action);
    const { bytes, contentType, accept } = request;
    const startedAt = performance.now();
    const reply = await client.open(path, {
      query: { ...query, ...request.query },
      bytes,
      contentType,
      accept,
      signal,
    });
    this.bytesReceived += await readAll(reply, client.url);
    const milliseconds = performance.now() - startedAt;
    this.bytesSent += bytes.length;
    if (this.work.makesTables) await this.drop(request.table);
    return milliseconds;
  }

  private async drop(table: TablePath): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        await dropTable(this.load.client, table);
        return;
      } catch (error) {
        if (!isPassing(error) || attempt === DROP_ATTEMPTS_MAX) throw error;
        await this.noteError(error);
      }
    }
  }

  /** A server that is busy says when to come again. Gives the milliseconds that were waited. */
  private async noteError(error: ClientError): Promise<number> {
    this.errors += 1;
    this.firstError ??= `${error.status}: ${error.message}`;
    const milliseconds = Math.min(error.retryAfterSeconds ?? PAUSE_SECONDS_MAX, PAUSE_SECONDS_MAX) * 1000;
    await pause(milliseconds);
    return milliseconds;
  }
}

/** Load can cause it; whatever else is refused would be refused for ever. */
function isPassing(error: unknown): error is ClientError {
  return error instanceof ClientError && (error.status >= 500 || error.status === 429 || error.status === 409);
}

async function readAll({ body }: Response, url: string): Promise<number> {
  let bytes = 0;
  try {
    for await (const piece of body ?? []) bytes += piece.length;
  } catch (error) {
    throw new ConnectionError(url, error);
  }
  return bytes;
}

const LEAST_MILLISECONDS = 0.01;
const STEP = 1.01;
/** From 10 µs to more than an hour. */
const STEPS = 2048;

/** How long requests took, in steps of one percent, so that any number of them needs the same memory. */
export class Latencies {
  count = 0;
  max = 0;
  private readonly counts = new Uint32Array(STEPS);

  add(milliseconds: number): void {
    const step = Math.round(Math.log(Math.max(milliseconds, LEAST_MILLISECONDS) / LEAST_MILLISECONDS) / Math.log(STEP));
    const place = Math.min(step, STEPS - 1);
    this.counts[place] = (this.counts[place] ?? 0) + 1;
    this.count += 1;
    this.max = Math.max(this.max, milliseconds);
  }

  /** Milliseconds within which this share of the requests was answered; `undefined` when there was none. */
  quantile(share: number): number | undefined {
    if (this.count === 0) return undefined;
    const wanted = Math.max(1, Math.ceil(this.count * share));
    let seen = 0;
    const place = this.counts.findIndex((count) => {
      seen += count;
      return seen >= wanted;
    });
    return Math.min(this.max, LEAST_MILLISECONDS * STEP ** place);
  }
}
