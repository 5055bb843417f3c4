import { performance } from 'node:perf_hooks';
import { join } from 'node:path';
import { joinStream, makeStreamParts } from '../../data.ts';
import { countOf } from '../../measure.ts';
import type { Count } from '../../measure.ts';
import { startServerProcess } from '../../server-process.ts';
import { expectSuccess, openClients, pick, uploadTable } from '../scenario.ts';
import type { Bench } from '../scenario.ts';
import { buildIndex, makeVectors, searchRequest } from './searches.ts';

const WORKERS = 8;
const ROWS = 20_000;
const NAME = 'start';
const ROUNDS = 3;
const SECOND = 1000;
const WARM_MILLISECONDS = 4000;

/** The time of a search in the first second after a server start, relative to the same server when it is warm. */
export async function* measureStart({ folder, flags }: Bench): AsyncGenerator<Count> {
  const home = join(folder, 'start');
  await prepare(home, flags);
  const ratios: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const server = await startServerProcess(home, flags);
    try {
      const send = await openSearches(server.port, round);
      const first = await countWithin(SECOND, send);
      await countWithin(WARM_MILLISECONDS, send);
      ratios.push((await countWithin(SECOND, send)) / first);
    } finally {
      await server.close();
    }
  }
  yield countOf('search in the first second after the start, relative to a warm server', ratios, 1.5);
}

async function prepare(home: string, flags: readonly string[]): Promise<void> {
  const server = await startServerProcess(home, flags);
  const [client] = await openClients(server.port, 1);
  if (client === undefined) throw new Error('there is no client');
  await uploadTable(client, NAME, joinStream(makeStreamParts(ROWS, 3), 1));
  await buildIndex(client, NAME, { column: 'vec', index_type: 'IVF_FLAT', distance_type: 'l2', num_partitions: 64 });
  client.close();
  await server.close();
}

async function openSearches(port: number, round: number): Promise<(worker: number) => Promise<void>> {
  const searches = makeVectors(20_000, 100 + round).map((vector) => searchRequest(NAME, vector));
  const clients = await openClients(port, WORKERS);
  let next = 0;
  return async (worker) => expectSuccess(await pick(clients, worker).send(pick(searches, next++ % searches.length)));
}

async function countWithin(milliseconds: number, send: (worker: number) => Promise<void>): Promise<number> {
  const until = performance.now() + milliseconds;
  let count = 0;
  await Promise.all(
    Array.from({ length: WORKERS }, async (_unused, worker) => {
      for (; performance.now() < until; count += 1) await send(worker);
    }),
  );
  return count;
}
