import { jsonRequest } from '../http-client.ts';
import { compare } from '../measure.ts';
import type { Comparison } from '../measure.ts';
import { BENCH_KEY } from '../server-process.ts';
import { BenchTable, ClusteredVectors, NARROW_FILTER } from './clustered-table.ts';
import { expectSuccess, openClients, pick } from './scenario.ts';
import type { Bench } from './scenario.ts';
import type { RawQuery, RawTable } from '../engine-side.ts';

const WORKERS = 8;
const VECTORS = 64;
const ROWS = 50_000;
const NAME = 'filtered-50000';

/**
 * Searches without parameters, with filters that a tenth and a hundredth of the rows pass, compared with the engine
 * using the parameters that they get.
 */
export async function* compareFiltered(bench: Bench): AsyncGenerator<Comparison> {
  const vectors = new ClusteredVectors();
  const table = new BenchTable(bench.port, NAME);
  await table.create(vectors, ROWS);
  const { search } = await table.buildIndex({ column: 'vec', index_type: 'IVF_PQ' });
  const raw = await openSame(bench, table);
  const clients = await openClients(bench.port, WORKERS);
  const queries = Array.from({ length: VECTORS }, () => vectors.next());
  for (const [share, filter] of [
    ['10%', 'bucket < 100'],
    ['1%', NARROW_FILTER],
  ] as const) {
    const requests = queries.map((vector) =>
      jsonRequest(`/v1/table/${NAME}/query`, BENCH_KEY, { vector: [...vector], k: 10, filter, context: NO_CACHE }),
    );
    const used = search.filtered[share === '10%' ? 0 : 1] ?? search.filtered.at(-1) ?? search;
    yield await compare({
      name: `query, top 10 of 50,000 × 128, IVF_PQ, filter ${share}, 8 at once`,
      goal: 0,
      workers: WORKERS,
      operations: 400,
      rounds: 5,
      http: async (worker, turn) => expectSuccess(await pick(clients, worker).send(pick(requests, turn % VECTORS))),
      engine: async (_worker, turn) => {
        const query = raw.query().nearestTo(pick(queries, turn % VECTORS));
        query.limit(10);
        query.onlyIf(filter);
        query.maximumNprobes(0);
        query.minimumNprobes(used.all_partitions === true ? ALL_PARTITIONS : (used.nprobes ?? 20));
        if (used.refine_factor !== undefined) query.refineFactor(used.refine_factor);
        await readThrough(query);
      },
    });
  }
  for (const client of clients) client.close();
  raw.close();
}

const ALL_PARTITIONS = 100_000;
const NO_CACHE = { 'header.cache-control': 'no-store' };

/** The server's own table and index, through the engine in this process. */
async function openSame(bench: Bench, table: BenchTable): Promise<RawTable> {
  const { location } = await table.call('describe', {});
  const [, folder = '', name = ''] = /^(?:file:\/\/)?(.*)\/([^/]+)\.lance\/?$/.exec(location) ?? [];
  return (await bench.openRawAt(folder)).openTable(name);
}

async function readThrough(query: RawQuery): Promise<void> {
  const batches = await query.execute();
  while ((await batches.next()) !== null);
}
