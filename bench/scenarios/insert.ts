import { joinStream, makeStreamParts, toFile } from '../data.ts';
import { requestHead } from '../http-client.ts';
import { compare } from '../measure.ts';
import type { Comparison, Work } from '../measure.ts';
import { BENCH_KEY } from '../server-process.ts';
import { expectSuccess, openClients, pick, uploadTable } from './scenario.ts';
import type { Bench } from './scenario.ts';

export interface InsertCase {
  readonly writers: number;
  readonly rows: number;
  readonly operations: number;
  readonly goal: number;
  /** Set if the server syncs regardless of the flags. */
  readonly sync?: 'full';
}

const CASES: readonly InsertCase[] = [
  { writers: 1, rows: 100, operations: 100, goal: 0.6 },
  { writers: 8, rows: 100, operations: 160, goal: 2 },
  { writers: 1, rows: 10_000, operations: 20, goal: 0 },
  { writers: 8, rows: 1, operations: 320, goal: 2 },
  { writers: 32, rows: 1, operations: 320, goal: 6 },
];

const ROUNDS = 5;
const SEED = 2;

/** Appends to one table; new tables for each case, so that none is affected by the fragments of another. */
export async function* compareInsert(bench: Bench): AsyncGenerator<Comparison> {
  for (const each of CASES) yield await compareInsertCase(bench, each);
}

/** The engine's side has one handle per writer. */
export async function compareInsertCase(
  bench: Pick<Bench, 'port' | 'raw'>,
  insertCase: InsertCase,
): Promise<Comparison> {
  const { writers, rows, operations, goal, sync = 'as-given' } = insertCase;
  const name = `insert-${writers}-${rows}-${sync}`;
  const inserts = await openInserts(bench.port, name, insertCase);
  const file = await toFile(joinStream(makeStreamParts(rows, SEED), 1));
  await bench.raw.createTable(name, file, 'create');
  const tables = await Promise.all(Array.from({ length: writers }, async () => bench.raw.openTable(name)));
  const comparison = await compare({
    name: describeInsert(insertCase),
    goal,
    workers: writers,
    operations,
    rounds: ROUNDS,
    http: inserts.work,
    engine: async (worker) => {
      await pick(tables, worker).add(file, 'append');
    },
  });
  inserts.close();
  for (const table of tables) table.close();
  return comparison;
}

export function describeInsert({ rows, writers, sync }: Pick<InsertCase, 'rows' | 'writers' | 'sync'>): string {
  const setting = sync === undefined ? '' : `, storage.sync=${sync}`;
  return `insert ${rows.toLocaleString('en')} × 128, ${writers} writer${writers === 1 ? '' : 's'}${setting}`;
}

export interface Inserts {
  readonly work: Work;
  close(): void;
}

/** Creates the table with as many rows as each insert will add. */
export async function openInserts(
  port: number,
  name: string,
  { writers, rows }: Pick<InsertCase, 'writers' | 'rows'>,
): Promise<Inserts> {
  const stream = joinStream(makeStreamParts(rows, SEED), 1);
  const length = stream.reduce((sum, part) => sum + part.length, 0);
  const clients = await openClients(port, writers);
  await uploadTable(pick(clients, 0), name, stream);
  const type = 'application/vnd.apache.arrow.stream';
  const head = requestHead({ path: `/v1/table/${name}/insert`, key: BENCH_KEY, type, length });
  return {
    work: async (worker) => expectSuccess(await pick(clients, worker).send([head, ...stream])),
    close() {
      for (const client of clients) client.close();
    },
  };
}
