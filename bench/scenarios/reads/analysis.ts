import { DIMENSION, joinStream, makeStreamParts, randomNumbers, toFile } from '../../data.ts';
import { jsonRequest } from '../../http-client.ts';
import { compare } from '../../measure.ts';
import type { Comparison, Plan } from '../../measure.ts';
import { BENCH_KEY } from '../../server-process.ts';
import { expectSuccess, openClients, pick, uploadTable } from '../scenario.ts';
import type { Bench } from '../scenario.ts';

const WORKERS = 8;
const VECTORS = 64;

/** Top 10 by vector without an index, over 10,000 and 100,000 rows. */
export async function* compareAnalysis(bench: Bench): AsyncGenerator<Comparison> {
  for (const [rows, operations, goal] of [
    [10_000, 800, 0.92],
    [100_000, 160, 0.9],
  ] as const) {
    yield compareRows(bench, rows, { operations, goal });
  }
}

async function compareRows(bench: Bench, rows: number, plan: Pick<Plan, 'operations' | 'goal'>): Promise<Comparison> {
  const stream = joinStream(makeStreamParts(rows, 1), 1);
  const name = `analysis-${rows}`;
  const clients = await openClients(bench.port, WORKERS);
  await uploadTable(pick(clients, 0), name, stream);
  const table = await bench.raw.createTable(name, await toFile(stream), 'create');
  const random = randomNumbers(7);
  const vectors = Array.from({ length: VECTORS }, () =>
    Float32Array.from({ length: DIMENSION }, () => random() * 2 - 1),
  );
  const requests = vectors.map((vector) =>
    jsonRequest(`/v1/table/${name}/analyze_plan`, BENCH_KEY, { vector: { single_vector: [...vector] }, k: 10 }),
  );
  const comparison = await compare({
    name: `analysis, ${rows.toLocaleString('en')} × ${DIMENSION}, ${WORKERS} at once`,
    ...plan,
    workers: WORKERS,
    rounds: 7,
    http: async (worker, turn) => expectSuccess(await pick(clients, worker).send(pick(requests, turn % VECTORS))),
    engine: async (_worker, turn) => {
      const query = table.query();
      const search = query.nearestTo(pick(vectors, turn % VECTORS));
      search.limit(10);
      await search.analyzePlan();
    },
  });
  for (const client of clients) client.close();
  table.close();
  return comparison;
}
