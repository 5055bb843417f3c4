import { joinStream, makeStreamParts, toFile } from '../../data.ts';
import { jsonRequest } from '../../http-client.ts';
import { compare } from '../../measure.ts';
import type { Comparison } from '../../measure.ts';
import { BENCH_KEY } from '../../server-process.ts';
import { readThrough } from './query.ts';
import { expectSuccess, openClients, pick, uploadTable } from '../scenario.ts';
import type { Bench } from '../scenario.ts';
import { queryRequest } from './searches.ts';

const WORKERS = 8;
const ROWS = 100_000;
const NAME = 'lookup';
const OPERATIONS = 1000;
const ROUNDS = 7;
/** A prime number, so that no id occurs twice: the server caches results. */
const STEP = 7919;

/** One row by its id, with a scalar index. */
export async function* compareLookup(bench: Bench): AsyncGenerator<Comparison> {
  const stream = joinStream(makeStreamParts(ROWS, 5), 1);
  const clients = await openClients(bench.port, WORKERS);
  const first = pick(clients, 0);
  await uploadTable(first, NAME, stream);
  const index = { column: 'id', index_type: 'BTREE' };
  expectSuccess(await first.send(jsonRequest(`/v1/table/${NAME}/create_scalar_index`, BENCH_KEY, index)));
  const table = await bench.raw.createTable(NAME, await toFile(stream), 'create');
  await table.createIndex(null, 'id', true);
  let [sent, asked] = [0, 0];
  const filterAt = (turn: number): string => `id = ${(turn * STEP) % ROWS}`;
  const requests = Array.from({ length: OPERATIONS * (ROUNDS + 1) }, (_unused, turn) =>
    queryRequest(NAME, { filter: filterAt(turn), k: 1 }),
  );
  yield await compare({
    name: 'lookup of a row of 100,000 × 128 by id, BTREE, 8 at once',
    goal: 0.95,
    workers: WORKERS,
    operations: OPERATIONS,
    rounds: ROUNDS,
    http: async (worker) => expectSuccess(await pick(clients, worker).send(pick(requests, sent++ % requests.length))),
    engine: async () => {
      const query = table.query();
      query.onlyIf(filterAt(asked++));
      query.limit(1);
      await readThrough(query);
    },
  });
  for (const client of clients) client.close();
  table.close();
}
