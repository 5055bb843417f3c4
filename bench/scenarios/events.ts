import { get } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { requestHead } from '../http-client.ts';
import { countOf } from '../measure.ts';
import type { Count } from '../measure.ts';
import { BENCH_KEY, startServerProcess } from '../server-process.ts';
import { expectSuccess, openClients, pick } from './scenario.ts';
import type { Bench } from './scenario.ts';

const LISTENERS = 100;
const EVENTS = 10_000;
const SECONDS = 60;
const WRITERS = 32;
/** The time for the last events to arrive. */
const LAST_SECONDS = 30;

/** Makes the cheapest possible commits at a constant rate, and checks what each of many listeners receives. */
export async function* measureEvents({ folder, flags, report }: Bench): AsyncGenerator<Count> {
  const server = await startServerProcess(join(folder, 'events'), flags);
  try {
    const listeners = await Promise.all(Array.from({ length: LISTENERS }, async () => Listener.open(server.port)));
    const seconds = await commit(server.port);
    const until = performance.now() + LAST_SECONDS * 1000;
    while (listeners.some(({ count }) => count < EVENTS) && performance.now() < until) await sleep(10);
    const delivered = listeners.reduce((sum, { count }) => sum + count, 0);
    const delays = listeners.flatMap((each) => each.delays).toSorted((one, other) => one - other);
    const percentile = (share: number): number => delays[Math.floor(share * (delays.length - 1))] ?? Number.NaN;
    report(`${EVENTS} commits in ${seconds.toFixed(1)} s; ${delivered} events delivered to ${LISTENERS} listeners`);
    const name = `${EVENTS} events to ${LISTENERS} listeners`;
    yield countOf(`${name}: lost`, [LISTENERS * EVENTS - delivered], 0);
    yield countOf(`${name}: out of order`, [listeners.reduce((sum, { misplaced }) => sum + misplaced, 0)], 0);
    yield countOf(`${name}: milliseconds from commit to listener, p50`, [percentile(0.5)], 100);
    yield countOf(`${name}: milliseconds from commit to listener, p99`, [percentile(0.99)], 1000);
    for (const listener of listeners) listener.close();
  } finally {
    await server.close();
  }
}

/** Each commit has a scheduled time; late ones follow at once. Returns the total duration. */
async function commit(port: number): Promise<number> {
  const clients = await openClients(port, WRITERS);
  const body = Buffer.from('{}');
  const startedAt = performance.now();
  let next = 0;
  await Promise.all(
    Array.from({ length: WRITERS }, async (_unused, worker) => {
      for (let event = next++; event < EVENTS; event = next++) {
        const wait = startedAt + (event / EVENTS) * SECONDS * 1000 - performance.now();
        if (wait > 0) await sleep(wait);
        const path = `/v1/namespace/n${event}/create`;
        const head = requestHead({ path, key: BENCH_KEY, type: 'application/json', length: body.length });
        expectSuccess(await pick(clients, worker).send([head, body]));
      }
    }),
  );
  for (const client of clients) client.close();
  return (performance.now() - startedAt) / 1000;
}

class Listener {
  count = 0;
  misplaced = 0;
  readonly delays: number[] = [];
  readonly #response: IncomingMessage;
  #rest = '';
  #last = '';

  private constructor(response: IncomingMessage) {
    this.#response = response;
    response.setEncoding('utf8').on('data', (text: string) => this.#take(text));
    response.on('error', () => {});
  }

  static async open(port: number): Promise<Listener> {
    const headers = { 'x-api-key': BENCH_KEY };
    const options = { host: '127.0.0.1', port, path: '/v1/events', headers, agent: false };
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      get(options, resolve).once('error', reject);
    });
    expectSuccess(response.statusCode ?? 0);
    return new Listener(response);
  }

  close(): void {
    this.#response.destroy();
  }

  #take(text: string): void {
    const now = Date.now();
    const messages = (this.#rest + text).split('\n\n');
    this.#rest = messages.pop() ?? '';
    for (const message of messages) {
      const [, id = '', time] = /^id: (\w+)\nevent: commit\n.*"committed_at":"([^"]+)"/.exec(message) ?? [];
      if (time === undefined) continue;
      if (id <= this.#last) this.misplaced += 1;
      this.#last = id;
      this.count += 1;
      this.delays.push(now - Date.parse(time));
    }
  }
}
