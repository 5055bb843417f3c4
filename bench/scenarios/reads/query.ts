import { joinStream, makeStreamParts, toFile } from '../../data.ts';
import type { RawQuery, RawTable } from '../../engine-side.ts';
import { compare } from '../../measure.ts';
import type { Comparison } from '../../measure.ts';
import { expectSuccess, openClients, pick, uploadTable } from '../scenario.ts';
import type { Bench } from '../scenario.ts';
import { buildIndex, makeVectors, queryRequest, searchRequest } from './searches.ts';

const WORKERS = 8;
const ROUNDS = 5;
const INDEXED_OPERATIONS = 800;
/** No search is sent twice, because the server caches results. */
const VECTORS = INDEXED_OPERATIONS * (ROUNDS + 1);
const ROWS = 100_000;
const NAME = 'query-100000';

/** Top 10 of 100,000 rows without and with an index, and a scan of all rows. */
export async function* compareQuery(bench: Bench): AsyncGenerator<Comparison> {
  const stream = joinStream(makeStreamParts(ROWS, 3), 1);
  const clients = await openClients(bench.port, WORKERS);
  const first = pick(clients, 0);
  await uploadTable(first, NAME, stream);
  const table = await bench.raw.createTable(NAME, await toFile(stream), 'create');
  const vectors = makeVectors(VECTORS, 11);
  const searches = vectors.map((vector) => searchRequest(NAME, vector));
  let [sent, asked] = [0, 0];
  const search = {
    workers: WORKERS,
    rounds: ROUNDS,
    http: async (worker: number) => expectSuccess(await pick(clients, worker).send(pick(searches, sent++ % VECTORS))),
    engine: async () => searchOnce(table, pick(vectors, asked++ % VECTORS)),
  };
  const name = 'query, top 10 of 100,000 × 128';
  yield await compare({ ...search, name: `${name}, no index, 8 at once`, goal: 0.95, operations: 160 });

  const scan = queryRequest(NAME, {
    k: Number.MAX_SAFE_INTEGER,
    vector: [],
    columns: { column_names: ['id', 'price', 'vec'] },
  });
  yield await compare({
    name: 'query, scan of 100,000 × 128',
    goal: 0.75,
    workers: 1,
    operations: 5,
    rounds: ROUNDS,
    http: async (worker) => expectSuccess(await pick(clients, worker).send(scan)),
    engine: async () => readThrough(table.query()),
  });

  await buildIndex(first, NAME, { column: 'vec', index_type: 'IVF_PQ', distance_type: 'l2' });
  await table.createIndex(null, 'vec', true);
  bench.report('the indexes are there');
  yield await compare({
    ...search,
    name: `${name}, IVF_PQ, 8 at once`,
    goal: 0.9,
    operations: INDEXED_OPERATIONS,
  });
  for (const client of clients) client.close();
  table.close();
}

export async function searchOnce(table: RawTable, vector: Float32Array): Promise<void> {
  const query = table.query().nearestTo(vector);
  query.limit(10);
  await readThrough(query);
}

export async function readThrough(query: RawQuery): Promise<void> {
  const batches = await query.execute();
  while ((await batches.next()) !== null);
}
