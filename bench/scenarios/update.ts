import { joinStream, makeCounterParts, toFile } from '../data.ts';
import type { StreamParts } from '../data.ts';
import { jsonRequest } from '../http-client.ts';
import type { BareClient } from '../http-client.ts';
import { compare, median } from '../measure.ts';
import type { Comparison } from '../measure.ts';
import { BENCH_KEY } from '../server-process.ts';
import { expectSuccess, openClients, pick, uploadTable } from './scenario.ts';
import type { Bench } from './scenario.ts';

/** `rows` is the number of different rows that the writers update: one is a counter, many are independent records. */
const CASES = [
  { writers: 1, rows: 1, operations: 200, rounds: 5, goal: 0.7 },
  { writers: 8, rows: 1, operations: 160, rounds: 3, goal: 1.5 },
  { writers: 8, rows: 1000, operations: 160, rounds: 3, goal: 2 },
  { writers: 32, rows: 1000, operations: 128, rounds: 3, goal: 8 },
] as const;

const TABLE_ROWS = 1000;

/** Single-row updates of one table. The engine's side has one connection per writer, like separate programs. */
export async function* compareUpdate(bench: Bench): AsyncGenerator<Comparison> {
  const parts = makeCounterParts(TABLE_ROWS);
  for (const { writers, rows, operations, rounds, goal } of CASES) {
    const name = `update-${writers}-${rows}`;
    const clients = await openClients(bench.port, writers);
    await uploadTable(pick(clients, 0), name, joinStream(parts, 1));
    const request = updateRequests(name);
    await bench.raw.createTable(name, await toFile(joinStream(parts, 1)), 'create');
    const connections = await Promise.all(Array.from({ length: writers }, async () => bench.openRaw()));
    const tables = await Promise.all(connections.map(async (connection) => connection.openTable(name)));
    yield await compare({
      name: `update, ${writers} writer${writers === 1 ? '' : 's'}, ${rows === 1 ? 'one row' : `${rows.toLocaleString('en')} rows`}`,
      goal,
      workers: writers,
      operations,
      rounds,
      http: async (worker, turn) => expectSuccess(await pick(clients, worker).send(request(turn % rows))),
      engine: async (worker, turn) => {
        await pick(tables, worker).update(`id = ${turn % rows}`, [['price', 'price + 1']]);
      },
    });
    for (const client of clients) client.close();
    for (const table of tables) table.close();
    for (const connection of connections) connection.close();
  }
}

/** Not compared with the engine: the same request after 10 and after 1,000 versions. A ratio of 1 means "no slower". */
export async function* compareVersions(bench: Bench): AsyncGenerator<Comparison> {
  const parts = makeCounterParts(TABLE_ROWS);
  const [client] = await openClients(bench.port, 1);
  if (client === undefined) return;
  yield await compareAge(bench, client, parts);
  client.close();
}

async function compareAge(bench: Bench, client: BareClient, parts: StreamParts): Promise<Comparison> {
  for (const name of ['young', 'old']) await uploadTable(client, name, joinStream(parts, 1));
  const update = { young: updateRequests('young'), old: updateRequests('old') };
  for (let turn = 0; turn < 10; turn += 1) expectSuccess(await client.send(update.young(0)));
  for (let turn = 0; turn < 1000; turn += 1) expectSuccess(await client.send(update.old(0)));
  bench.report('1,000 versions are there');
  const times = { young: [] as number[], old: [] as number[] };
  for (let turn = 0; turn < 40; turn += 1) {
    for (const age of ['young', 'old'] as const) {
      const startedAt = performance.now();
      expectSuccess(await client.send(update[age](0)));
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
