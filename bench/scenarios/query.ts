import { setTimeout as sleep } from 'node:timers/promises';
import { DIMENSION, joinStream, makeStreamParts, randomNumbers, toFile } from '../data.ts';
import type { RawQuery } from '../engine-side.ts';
import { jsonRequest } from '../http-client.ts';
import type { BareClient } from '../http-client.ts';
import { compare } from '../measure.ts';
import type { Comparison } from '../measure.ts';
import { BENCH_KEY } from '../server-process.ts';
import { expectSuccess, openClients, pick, uploadTable } from './scenario.ts';
import type { Bench } from './scenario.ts';

const WORKERS = 8;
const VECTORS = 64;
const ROWS = 100_000;
const NAME = 'query-100000';

/** Top 10 of 100,000 rows without and with an index, and all 100,000 rows read through. */
export async function* compareQuery(bench: Bench): AsyncGenerator<Comparison> {
  const stream = joinStream(makeStreamParts(ROWS, 3), 1);
  const clients = await openClients(bench.port, WORKERS);
  const first = pick(clients, 0);
  await uploadTable(first, NAME, stream);
  const table = await bench.raw.createTable(NAME, await toFile(stream), 'create');
  const random = randomNumbers(11);
  const vectors = Array.from({ length: VECTORS }, () =>
    Float32Array.from({ length: DIMENSION }, () => random() * 2 - 1),
  );
  const request = (body: object): Buffer => jsonRequest(`/v1/table/${NAME}/query`, BENCH_KEY, body);
  const searches = vectors.map((vector) => request({ vector: { single_vector: [...vector] }, k: 10 }));
  const search = {
    goal: 0,
    workers: WORKERS,
    rounds: 5,
    http: async (worker: number, turn: number) =>
      expectSuccess(await pick(clients, worker).send(pick(searches, turn % VECTORS))),
    engine: async (_worker: number, turn: number) => {
      const query = table.query().nearestTo(pick(vectors, turn % VECTORS));
      query.limit(10);
      await readThrough(query);
    },
  };
  yield await compare({ ...search, name: 'query, top 10 of 100,000 × 128, no index, 8 at once', operations: 160 });

  const scan = request({ k: Number.MAX_SAFE_INTEGER, vector: [], columns: { column_names: ['id', 'price', 'vec'] } });
  yield await compare({
    name: 'query, scan of 100,000 × 128',
    goal: 0,
    workers: 1,
    operations: 5,
    rounds: 5,
    http: async (worker) => expectSuccess(await pick(clients, worker).send(scan)),
    engine: async () => readThrough(table.query()),
  });

  const index = { column: 'vec', index_type: 'IVF_PQ', distance_type: 'l2' };
  await buildIndex(first, index);
  await table.createIndex(null, 'vec', true);
  bench.report('the indexes are there');
  yield await compare({ ...search, name: 'query, top 10 of 100,000 × 128, IVF_PQ, 8 at once', operations: 800 });
  for (const client of clients) client.close();
  table.close();
}

/** A long build is answered with 202; then wait for its index. */
async function buildIndex(client: BareClient, index: object): Promise<void> {
  const create = jsonRequest(`/v1/table/${NAME}/create_index`, BENCH_KEY, index);
  if ((await client.send(create)) === 200) return;
  const stats = jsonRequest(`/v1/table/${NAME}/index/vec_idx/stats`, BENCH_KEY, {});
  while ((await client.send(stats)) !== 200) await sleep(500);
}

async function readThrough(query: RawQuery): Promise<void> {
  const batches = await query.execute();
  while ((await batches.next()) !== null);
}
