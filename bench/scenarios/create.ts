import { joinStream, makeStreamParts, toFile } from '../data.ts';
import { compare } from '../measure.ts';
import type { Comparison } from '../measure.ts';
import { openClients, pick, uploadTable } from './scenario.ts';
import type { Bench } from './scenario.ts';

const MEBIBYTE = 1024 ** 2;
const BATCH_ROWS = 2000;

const SIZES = [
  { mebibytes: 1, operations: 20, rounds: 5, goal: 0.3 },
  { mebibytes: 64, operations: 3, rounds: 5, goal: 0.6 },
  { mebibytes: 512, operations: 1, rounds: 5, goal: 0.8 },
] as const;

/** The engine's side already has the whole Arrow file in memory, the fastest way that it supports. */
export async function* compareCreate(bench: Bench): AsyncGenerator<Comparison> {
  const parts = makeStreamParts(BATCH_ROWS, 4);
  const [client] = await openClients(bench.port, 1);
  if (client === undefined) return;
  let serial = 0;
  for (const { mebibytes, operations, rounds, goal } of SIZES) {
    const batches = Math.max(1, Math.round((mebibytes * MEBIBYTE) / parts.batch.length));
    const stream = joinStream(parts, batches);
    const file = await toFile(stream);
    yield await compare({
      name: `create, ${mebibytes} MiB`,
      goal,
      workers: 1,
      operations,
      rounds,
      http: async () => {
        serial += 1;
        await uploadTable(client, `create-${serial}`, stream);
      },
      engine: async () => {
        serial += 1;
        const table = await bench.raw.createTable(`create-${serial}`, file, 'create');
        await table.countRows();
        table.close();
      },
    });
  }
  pick([client], 0).close();
}
