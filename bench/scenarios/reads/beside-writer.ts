import { joinStream, makeStreamParts, toFile } from '../../data.ts';
import { jsonRequest } from '../../http-client.ts';
import { compare } from '../../measure.ts';
import type { Comparison } from '../../measure.ts';
import { BENCH_KEY } from '../../server-process.ts';
import { searchOnce } from './query.ts';
import { expectSuccess, openClients, pick, uploadTable } from '../scenario.ts';
import type { Bench } from '../scenario.ts';
import { buildIndex, makeVectors, searchRequest } from './searches.ts';

const WORKERS = 8;
const ROWS = 100_000;
const NAME = 'beside-writer';
const OPERATIONS = 180;
const ROUNDS = 5;
/** No search is sent twice, because the server caches results. */
const VECTORS = OPERATIONS * (ROUNDS + 1);
/** One in this many operations is an update. */
const UPDATE_EVERY = 9;

/** Searches of a table that is being written. */
export async function* compareBesideWriter(bench: Bench): AsyncGenerator<Comparison> {
  const stream = joinStream(makeStreamParts(ROWS, 3), 1);
  const first = pick(await openClients(bench.port, 1), 0);
  await uploadTable(first, NAME, stream);
  const table = await bench.raw.createTable(NAME, await toFile(stream), 'create');
  await buildIndex(first, NAME, { column: 'vec', index_type: 'IVF_PQ', distance_type: 'l2' });
  await table.createIndex(null, 'vec', true);
  // Not before: the server closes connections on which nothing arrives.
  const clients = [first, ...(await openClients(bench.port, WORKERS - 1))];
  const vectors = makeVectors(VECTORS, 17);
  const searches = vectors.map((vector) => searchRequest(NAME, vector));
  const [predicate, updates] = ['id = 7', [['price', 'price + 1']] as [string, string][]];
  const update = jsonRequest(`/v1/table/${NAME}/update`, BENCH_KEY, { predicate, updates });
  let [sent, asked] = [0, 0];
  yield await compare({
    name: 'query, top 10 of 100,000 × 128, IVF_PQ, 8 at once, every ninth an update',
    goal: 0,
    workers: WORKERS,
    operations: OPERATIONS,
    rounds: ROUNDS,
    http: async (worker, turn) => {
      const request = turn % UPDATE_EVERY === 0 ? update : pick(searches, sent++ % VECTORS);
      expectSuccess(await pick(clients, worker).send(request));
    },
    engine: async (_worker, turn) => {
      if (turn % UPDATE_EVERY === 0) await table.update(predicate, updates);
      else await searchOnce(table, pick(vectors, asked++ % VECTORS));
    },
  });
  for (const client of clients) client.close();
  table.close();
}
