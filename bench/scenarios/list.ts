import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openCatalog } from '../../src/catalog/catalog.ts';
import { openRawEngine } from '../engine-side.ts';
import { getRequest } from '../http-client.ts';
import { compare } from '../measure.ts';
import type { Comparison } from '../measure.ts';
import { BENCH_KEY, startServerProcess } from '../server-process.ts';
import { expectSuccess, openClients, pick } from './scenario.ts';

const PAGE = 100;

/** The first page of a listing. The engine reads its whole folder each time; the catalog reads a range of an index. */
export async function* compareList(): AsyncGenerator<Comparison> {
  for (const [tables, operations] of [
    [10, 400],
    [1000, 400],
    [100_000, 20],
  ] as const) {
    yield await compareTables(tables, operations);
  }
}

async function compareTables(tables: number, operations: number): Promise<Comparison> {
  const folder = await mkdtemp(join(tmpdir(), 'tiltyard-bench-list-'));
  const [data, engineRoot] = [join(folder, 'http'), join(folder, 'engine')];
  const names = Array.from({ length: tables }, (_unused, index) => `table-${String(index).padStart(6, '0')}`);
  await fillCatalog(data, names);
  for (const name of names) await mkdir(join(engineRoot, `${name}.lance`), { recursive: true });
  // Catalog rows without data, so there is nothing to maintain.
  const server = await startServerProcess(data, ['--maintenance-running-max=0']);
  const raw = await openRawEngine(engineRoot);
  const clients = await openClients(server.port, 1);
  const request = getRequest(`/v1/tables?limit=${PAGE}`, BENCH_KEY);
  try {
    return await compare({
      name: `list, first ${Math.min(PAGE, tables)} of ${tables.toLocaleString('en')} tables`,
      goal: 0,
      workers: 1,
      operations,
      rounds: 3,
      http: async () => expectSuccess(await pick(clients, 0).send(request)),
      engine: async () => {
        const found = await raw.tableNames([], null, PAGE);
        if (found.length !== Math.min(PAGE, tables)) throw new Error(`the engine found ${found.length} tables`);
      },
    });
  } finally {
    for (const client of clients) client.close();
    await server.close();
    await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }
}

/** Rows only: a listing reads no data. */
async function fillCatalog(data: string, names: readonly string[]): Promise<void> {
  await mkdir(data, { recursive: true });
  const storageRoot = data;
  const catalog = await openCatalog({
    address: join(data, 'tiltyard.db'),
    storageRoot,
    waitMilliseconds: 5000,
    connectionsMax: 1,
    journal: { windowSeconds: 60, keySeconds: 86_400, keysMax: 1000 },
    cacheBytes: 1_000_000,
    now: Date.now,
  });
  try {
    const database = await catalog.databases.create({ name: 'default', root: storageRoot });
    const found = names.map((name) => ({
      path: [name] as const,
      location: { kind: 'listed', root: storageRoot, directory: name } as const,
    }));
    await catalog.tables.adopt(database.id, found);
  } finally {
    await catalog.close();
  }
}
