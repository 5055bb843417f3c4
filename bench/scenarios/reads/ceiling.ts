import type { BareQuery } from '../../bare-server.ts';
import { joinStream, makeStreamParts, toFile } from '../../data.ts';
import { jsonRequest } from '../../http-client.ts';
import { compare } from '../../measure.ts';
import type { Comparison } from '../../measure.ts';
import { startBareServer } from '../bare-server-process.ts';
import { expectSuccess, openClients, pick } from '../scenario.ts';
import type { Bench } from '../scenario.ts';
import { readThrough } from './query.ts';
import { makeVectors } from './searches.ts';

const WORKERS = 8;
const ROUNDS = 5;
const ROWS = 100_000;
const NAME = 'ceiling';
const SEARCHES = 800;

/** The same reads as in `query` and `lookup`, through a server that only calls the engine: the maximum for Node. */
export async function* compareCeiling(bench: Bench): AsyncGenerator<Comparison> {
  const table = await bench.raw.createTable(NAME, await toFile(joinStream(makeStreamParts(ROWS, 3), 1)), 'create');
  await table.createIndex(null, 'id', true);
  await table.createIndex(null, 'vec', true);
  const server = await startBareServer(bench, NAME);
  const clients = await openClients(server.port, WORKERS);
  const ask = async (worker: number, query: BareQuery): Promise<void> =>
    expectSuccess(await pick(clients, worker).send(jsonRequest(`/${NAME}`, '', query)));
  const vectors = makeVectors(SEARCHES, 11);
  let [sent, asked] = [0, 0];
  const eight = { goal: 0, workers: WORKERS, rounds: ROUNDS };
  yield await compare({
    ...eight,
    name: 'a bare server: lookup by id, BTREE, 8 at once',
    operations: 1000,
    http: async (worker) => ask(worker, { filter: `id = ${(sent++ * 7919) % ROWS}`, k: 1 }),
    engine: async () => {
      const query = table.query();
      query.onlyIf(`id = ${(asked++ * 7919) % ROWS}`);
      query.limit(1);
      await readThrough(query);
    },
  });
  yield await compare({
    ...eight,
    name: 'a bare server: top 10, IVF_PQ, 8 at once',
    operations: SEARCHES,
    http: async (worker) => ask(worker, { vector: [...pick(vectors, sent++ % SEARCHES)], k: 10 }),
    engine: async () => {
      const query = table.query().nearestTo(pick(vectors, asked++ % SEARCHES));
      query.limit(10);
      await readThrough(query);
    },
  });
  yield await compareBareAnalysis(bench, vectors);
  yield await compare({
    name: 'a bare server: scan of 100,000 × 128',
    goal: 0,
    workers: 1,
    operations: 5,
    rounds: ROUNDS,
    http: async (worker) => ask(worker, {}),
    engine: async () => readThrough(table.query()),
  });
  for (const client of clients) client.close();
  server.close();
  table.close();
}

async function compareBareAnalysis(bench: Bench, vectors: readonly Float32Array[]): Promise<Comparison> {
  const name = `${NAME}-analysis`;
  const file = await toFile(joinStream(makeStreamParts(10_000, 1), 1));
  const table = await bench.raw.createTable(name, file, 'create');
  const server = await startBareServer(bench, name);
  const clients = await openClients(server.port, WORKERS);
  const requests = vectors.map((vector) => jsonRequest(`/${name}`, '', { vector: [...vector], k: 10, analyze: true }));
  const comparison = await compare({
    name: 'a bare server: analysis, 10,000 × 128, 8 at once',
    goal: 0,
    workers: WORKERS,
    rounds: ROUNDS,
    operations: SEARCHES,
    http: async (worker, turn) => expectSuccess(await pick(clients, worker).send(pick(requests, turn % SEARCHES))),
    engine: async (_worker, turn) => {
      const query = table.query().nearestTo(pick(vectors, turn % SEARCHES));
      query.limit(10);
      await query.analyzePlan();
    },
  });
  for (const client of clients) client.close();
  server.close();
  table.close();
  return comparison;
}
