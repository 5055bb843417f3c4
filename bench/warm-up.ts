import { joinStream, makeCounterParts } from './data.ts';
import { jsonRequest } from './http-client.ts';
import { openInserts } from './scenarios/insert.ts';
import { expectSuccess, openClients, pick, uploadTable } from './scenarios/scenario.ts';
import { BENCH_KEY } from './server-process.ts';

const TABLE = 'warm-up';
/** Requests of each kind. During the first thousand, compiling takes V8 as long as the server's work itself. */
const REQUESTS = 2000;
const ROWS = 100;

/**
 * Measures a server in its steady state: V8 compiles the server's code during its first thousands of requests, but the
 * engine is already compiled. Tables of the scenarios stay unused.
 */
export async function warmUp(port: number): Promise<void> {
  const inserts = await openInserts(port, `${TABLE}-inserts`, { writers: 1, rows: 1 });
  const client = pick(await openClients(port, 1), 0);
  await uploadTable(client, TABLE, joinStream(makeCounterParts(ROWS), 1));
  const update = jsonRequest(`/v1/table/${TABLE}/update`, BENCH_KEY, {
    updates: [['price', 'price + 1']],
    predicate: 'id = 0',
  });
  const analyze = jsonRequest(`/v1/table/${TABLE}/analyze_plan`, BENCH_KEY, { filter: 'price > 1', k: 1 });
  for (let request = 0; request < REQUESTS; request += 1) {
    await inserts.work(0, request);
    expectSuccess(await client.send(update));
    expectSuccess(await client.send(analyze));
  }
  inserts.close();
  client.close();
}
