import { joinStream, makeStreamParts, toFile } from '../data.ts';
import type { StreamParts } from '../data.ts';
import { jsonRequest } from '../http-client.ts';
import type { BareClient } from '../http-client.ts';
import { compare, median } from '../measure.ts';
import type { Comparison } from '../measure.ts';
import { BENCH_KEY } from '../server-process.ts';
import { expectSuccess, openClients, pick, uploadTable } from './scenario.ts';
import type { Bench } from './scenario.ts';

const ROWS = 1000;
const WRITERS = [
  { writers: 1, turns: 100, rounds: 7, goal: 0.7 },
  { writers: 8, turns: 64, rounds: 5, goal: 2 },
  { writers: 32, turns: 64, rounds: 3, goal: 8 },
] as const;

/** Single-row updates of one table. The engine's side has one open table per writer, as separate programs would. */
export async function* compareUpdate(bench: Bench): AsyncGenerator<Comparison> {
  const parts = makeStreamParts(ROWS, 2);
  for (const { writers, turns, rounds, goal } of WRITERS) {
    const name = `update-${writers}`;
    const clients = await openClients(bench.port, writers);
    await uploadTable(pick(clients, 0), name, joinStream(parts, 1));
    const request = updateRequests(name);
    await bench.raw.createTable(name, await toFile(joinStream(parts, 1)), 'create');
    const tables = await Promise.all(Array.from({ length: writers }, async () => bench.raw.openTable(name)));
    yield compare({
      name: `update, ${writers} writer${writers === 1 ? '' : 's'}`,
      goal,
      workers: writers,
      turns,
      rounds,
      http: async (worker, turn) => expectSuccess(await pick(clients, worker).send(request(turn % ROWS))),
      engine: async (worker, turn) => {
        await pick(tables, worker).update(`id = ${turn % ROWS}`, [['price', 'price + 1']]);
      },
    });
    for (const client of clients) client.close();
    for (const table of tables) table.close();
  }
}

/** Not against the engine: the same request after 10 and after 1,000 versions. A ratio of 1 is "no slower". */
export async function* compareVersions(bench: Bench): AsyncGenerator<Comparison> {
  const parts = makeStreamParts(ROWS, 3);
  const [client] = await openClients(bench.port, 1);
  if (client === undefined) return;
  yield await compareAge(bench, client, parts);
  client.close();
}

async function compareAge(bench: Bench, client: BareClient, parts: StreamParts): Promise<Comparison> {
  for (const name of ['young', 'old']) await uploadTable(client, name, joinStream(parts, 1));
  const update = { young: updateRequests('young'), old: updateRequests('old') };
  for (let turn = 0; turn < 10; turn += 1) expectSuccess(await client.send(update.young(turn)));
  for (let turn = 0; turn < 1000; turn += 1) expectSuccess(await client.send(update.old(turn % 50)));
  bench.report('1,000 versions are there');
  const times = { young: [] as number[], old: [] as number[] };
  for (let turn = 0; turn < 40; turn += 1) {
    for (const age of ['young', 'old'] as const) {
      const startedAt = performance.now();
      expectSuccess(await client.send(update[age](turn % 50)));
      times[age].push(performance.now() - startedAt);
    }
  }
  const [young, old] = [median(times.young), median(times.old)];
  return {
    name: 'update after 1,000 versions against after 10',
    http: 1000 / old,
    engine: 1000 / young,
    ratio: young / old,
    lowest: young / old,
    highest: young / old,
    goal: 1 / 1.3,
  };
}

function updateRequests(name: string): (row: number) => Buffer {
  const path = `/v1/table/${name}/update`;
  return (row) => jsonRequest(path, BENCH_KEY, { updates: [['price', 'price + 1']], predicate: `id = ${row}` });
}
