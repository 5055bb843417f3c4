import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { joinStream, makeStreamParts } from '../../data.ts';
import { countOf, median, runOperations, toComparison } from '../../measure.ts';
import type { Result } from '../../measure.ts';
import { expectSuccess, openClients, pick, uploadTable } from '../scenario.ts';
import type { Bench } from '../scenario.ts';
import { buildIndex, makeVectors, searchRequest } from './searches.ts';

const WORKERS = 8;
const ROWS = 100_000;
const NAME = 'repeat';
const ROUNDS = 5;
const FIRST_TIME = 400;
const REPEATED = 64;
const REPEATS = 4000;
const LONE_REPEATS = 500;
/** Nothing is cached for this long after a commit. */
const SETTLE_MILLISECONDS = 500;

/** Repeated searches, which the server serves from its result cache, relative to new ones. */
export async function* measureRepeat(bench: Bench): AsyncGenerator<Result> {
  await prepare(bench.port);
  const clients = await openClients(bench.port, WORKERS);
  const searches = makeVectors(REPEATED + FIRST_TIME * (ROUNDS + 1), 17).map((vector) => searchRequest(NAME, vector));
  const send = async (worker: number, search: number) =>
    expectSuccess(await pick(clients, worker).send(pick(searches, search)));
  const repeat = async (worker: number, turn: number) => send(worker, turn % REPEATED);
  let next = REPEATED;
  const search = async (worker: number) => send(worker, next++);
  await runOperations(search, WORKERS, FIRST_TIME);
  await runOperations(repeat, WORKERS, REPEATS);
  const rates = { repeated: [] as number[], first: [] as number[], loneMilliseconds: [] as number[] };
  for (let round = 0; round < ROUNDS; round += 1) {
    rates.first.push(await runOperations(search, WORKERS, FIRST_TIME));
    rates.repeated.push(await runOperations(repeat, WORKERS, REPEATS));
    rates.loneMilliseconds.push(await measureLone(async (turn) => repeat(0, turn)));
  }
  const name = 'repeated search, top 10 of 100,000 × 128, IVF_PQ';
  yield toComparison({
    name: `${name}, 8 at once, relative to the first time`,
    goal: 4,
    http: rates.repeated,
    engine: rates.first,
  });
  const each = rates.repeated.map((rate) => 1000 / rate);
  yield countOf(`${name}, 8 at once, ms for each (2,500 a second)`, each, 0.4);
  yield countOf(`${name}, 1 client, p50 in ms`, rates.loneMilliseconds, 0.7);
  for (const client of clients) client.close();
}

/** With one client, because the server closes a connection without requests after `http.headersSeconds`. */
async function prepare(port: number): Promise<void> {
  const [client] = await openClients(port, 1);
  if (client === undefined) throw new Error('there is no client');
  await uploadTable(client, NAME, joinStream(makeStreamParts(ROWS, 3), 1));
  await buildIndex(client, NAME, { column: 'vec', index_type: 'IVF_PQ', distance_type: 'l2' });
  client.close();
  await sleep(SETTLE_MILLISECONDS);
}

/** The median of the latencies. */
async function measureLone(work: (turn: number) => Promise<void>): Promise<number> {
  const latencies: number[] = [];
  for (let turn = 0; turn < LONE_REPEATS; turn += 1) {
    const startedAt = performance.now();
    await work(turn);
    latencies.push(performance.now() - startedAt);
  }
  return median(latencies);
}
