import { joinStream, makeStreamParts, toFile } from '../data.ts';
import { requestHead } from '../http-client.ts';
import { compare } from '../measure.ts';
import type { Comparison } from '../measure.ts';
import { BENCH_KEY } from '../server-process.ts';
import { expectSuccess, openClients, pick, uploadTable } from './scenario.ts';
import type { Bench } from './scenario.ts';

const CASES = [
  { writers: 1, rows: 100, turns: 100 },
  { writers: 8, rows: 100, turns: 160 },
  { writers: 1, rows: 10_000, turns: 20 },
] as const;

/** Appends to one table; fresh tables for each case, so that none pays for the fragments of the one before. */
export async function* compareInsert(bench: Bench): AsyncGenerator<Comparison> {
  for (const { writers, rows, turns } of CASES) {
    const name = `insert-${writers}-${rows}`;
    const stream = joinStream(makeStreamParts(rows, 2), 1);
    const length = stream.reduce((sum, part) => sum + part.length, 0);
    const clients = await openClients(bench.port, writers);
    await uploadTable(pick(clients, 0), name, stream);
    const file = await toFile(stream);
    await bench.raw.createTable(name, file, 'create');
    const tables = await Promise.all(Array.from({ length: writers }, async () => bench.raw.openTable(name)));
    const type = 'application/vnd.apache.arrow.stream';
    const head = requestHead({ path: `/v1/table/${name}/insert`, key: BENCH_KEY, type, length });
    yield await compare({
      name: `insert ${rows.toLocaleString('en')} × 128, ${writers} writer${writers === 1 ? '' : 's'}`,
      goal: 0,
      workers: writers,
      turns,
      rounds: 3,
      http: async (worker) => expectSuccess(await pick(clients, worker).send([head, ...stream])),
      engine: async (worker) => {
        await pick(tables, worker).add(file, 'append');
      },
    });
    for (const client of clients) client.close();
    for (const table of tables) table.close();
  }
}
