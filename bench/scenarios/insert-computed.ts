import { jsonRequest } from '../http-client.ts';
import { countOf, runOperations } from '../measure.ts';
import type { Count, Work } from '../measure.ts';
import { BENCH_KEY } from '../server-process.ts';
import { describeInsert, openInserts } from './insert.ts';
import { expectSuccess, openClients, pick } from './scenario.ts';
import type { Bench } from './scenario.ts';

const CASES = [
  { writers: 1, rows: 1, operations: 100, goalMax: 10 },
  { writers: 1, rows: 100, operations: 100, goalMax: 10 },
  { writers: 1, rows: 10_000, operations: 20, goalMax: 300 },
] as const;
const ROUNDS = 5;

/** The time that a computed column adds: the same inserts to a table with one and to a table without, alternating. */
export async function* measureComputed({ port }: Bench): AsyncGenerator<Count> {
  for (const each of CASES) {
    const plain = await openInserts(port, `plain-${each.rows}`, each);
    const computed = await openInserts(port, `computed-${each.rows}`, each);
    await addComputed(port, `computed-${each.rows}`);
    const milliseconds = async ({ work }: { readonly work: Work }): Promise<number> =>
      1000 / (await runOperations(work, each.writers, each.operations));
    await milliseconds(plain);
    await milliseconds(computed);
    const more: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const [first, second] = round % 2 === 0 ? [plain, computed] : [computed, plain];
      const [one, other] = [await milliseconds(first), await milliseconds(second)];
      more.push(round % 2 === 0 ? other - one : one - other);
    }
    plain.close();
    computed.close();
    yield countOf(`milliseconds that a computed column adds: ${describeInsert(each)}`, more, each.goalMax);
  }
}

async function addComputed(port: number, name: string): Promise<void> {
  const client = pick(await openClients(port, 1), 0);
  const body = { new_columns: [{ name: 'gross', computed: 'price * 1.19' }] };
  expectSuccess(await client.send([jsonRequest(`/v1/table/${name}/add_columns`, BENCH_KEY, body)]));
  client.close();
}
