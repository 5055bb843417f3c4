import { ARROW_FILE, joinStream, makeCounterParts, makeStreamParts, toFile } from '../data.ts';
import { jsonRequest, requestHead } from '../http-client.ts';
import { compare } from '../measure.ts';
import type { Comparison } from '../measure.ts';
import { startBareServer } from './bare-server-process.ts';
import { expectSuccess, openClients, pick } from './scenario.ts';
import type { Bench } from './scenario.ts';

const ONE = { goal: 0, workers: 1, rounds: 5 };
const UPDATE: [string, string][] = [['price', 'price + 1']];

/** The writes of one writer as in `insert` and `update`, through a server that only calls the engine. */
export async function* compareWriteCeiling(bench: Bench): AsyncGenerator<Comparison> {
  const file = await toFile(joinStream(makeStreamParts(100, 2), 1));
  const counters = await toFile(joinStream(makeCounterParts(1000), 1));
  for (const name of ['bare-insert', 'raw-insert']) await bench.raw.createTable(name, file, 'create');
  for (const name of ['bare-update', 'raw-update']) await bench.raw.createTable(name, counters, 'create');
  const server = await startBareServer(bench, 'bare-insert', 'bare-update');
  const client = pick(await openClients(server.port, 1), 0);
  const [inserted, updated] = [await bench.raw.openTable('raw-insert'), await bench.raw.openTable('raw-update')];
  const head = requestHead({ path: '/bare-insert', key: '', type: ARROW_FILE, length: file.length });
  const update = jsonRequest('/bare-update', '', { predicate: 'id = 0', updates: UPDATE });
  yield await compare({
    ...ONE,
    name: 'a bare server: insert 100 × 128, 1 writer',
    operations: 100,
    http: async () => expectSuccess(await client.send([head, file])),
    engine: async () => void (await inserted.add(file, 'append')),
  });
  yield await compare({
    ...ONE,
    name: 'a bare server: update, 1 writer, one row',
    operations: 200,
    http: async () => expectSuccess(await client.send(update)),
    engine: async () => void (await updated.update('id = 0', UPDATE)),
  });
  client.close();
  server.close();
  inserted.close();
  updated.close();
}
