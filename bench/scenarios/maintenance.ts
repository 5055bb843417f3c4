import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { DIMENSION, joinStream, makeStreamParts, randomNumbers } from '../data.ts';
import { BareClient, jsonRequest } from '../http-client.ts';
import { median } from '../measure.ts';
import type { Comparison } from '../measure.ts';
import { BENCH_KEY, startServerProcess } from '../server-process.ts';
import { expectSuccess, uploadTable } from './scenario.ts';
import type { Bench } from './scenario.ts';

const TABLE_ROWS = 10_000;
const UPDATED_ROWS = 1000;
const UPDATES = 10_000;
const PART = 1000;
const NEGLECTED_UPDATES = 1000;
const QUERIES = 100;
const SETTLE_SECONDS_MAX = 300;
const STILL_SECONDS = 45;

/** The defaults check tables of this size less often, and let their old versions take up to 64 MiB. */
const FLAGS = [
  '--maintenance-quiet-seconds=2',
  '--maintenance-reader-seconds=5',
  '--maintenance-history-floor-bytes=0',
];

/**
 * Not compared with the engine: a table after 10,000 sequential updates of single rows, compared with a fresh copy, and
 * with the same updates without maintenance.
 */
export async function* compareMaintenance({ folder, report }: Bench): AsyncGenerator<Comparison> {
  const root = join(folder, 'maintained');
  const stream = joinStream(makeStreamParts(TABLE_ROWS, 7), 1);
  const kept = await openSide(root, FLAGS, stream);
  const left = await openSide(join(folder, 'neglected'), ['--maintenance-running-max=0'], stream);
  try {
    const rates = await updateBoth(kept.client, left.client);
    yield ratioOf('updates 501 to 1,000, with maintenance against without', { ...rates, goal: 1 });
    yield ratioOf('updates 9,001 to 10,000 against the first 1,000 of them', {
      ...(await updateOn(kept.client, report)),
      goal: 1 / 1.3,
    });
    await uploadTable(kept.client, 'fresh', stream);
    await whenSettled(root, report);
    const times = await timeQueries(kept.client);
    yield ratioOf('query after 10,000 updates against a fresh copy', {
      used: 1000 / times.used,
      fresh: 1000 / times.fresh,
      goal: 1 / 1.3,
    });
    const bytes = await measureTables(root);
    report(`${bytes.used} bytes on disk against ${bytes.fresh}`);
    yield ratioOf('tables that fit a GB of disk after 10,000 updates against fresh copies', {
      used: 1e9 / bytes.used,
      fresh: 1e9 / bytes.fresh,
      goal: 1 / 3,
    });
  } finally {
    await kept.close();
    await left.close();
  }
}

interface OpenSide {
  readonly client: BareClient;
  close(): Promise<void>;
}

/** A separate server with the table `used`. */
async function openSide(root: string, flags: readonly string[], stream: readonly Buffer[]): Promise<OpenSide> {
  const server = await startServerProcess(root, flags);
  const client = await BareClient.open(server.port);
  await uploadTable(client, 'used', stream);
  return {
    client,
    async close() {
      client.close();
      await server.close();
    },
  };
}

interface Figures {
  readonly used: number;
  readonly fresh: number;
  readonly goal: number;
}

function ratioOf(name: string, { used, fresh, goal }: Figures): Comparison {
  const ratio = used / fresh;
  return { name, http: used, engine: fresh, ratio, lowest: ratio, highest: ratio, goal };
}

/** Alternating updates per second of the maintained table and of the other one, which soon slows down. */
async function updateBoth(kept: BareClient, left: BareClient): Promise<Omit<Figures, 'goal'>> {
  const sums = { used: 0, fresh: 0 };
  for (let turn = 0; turn < NEGLECTED_UPDATES; turn += 1) {
    const [used, fresh] = [await timeUpdate(kept, turn), await timeUpdate(left, turn)];
    if (turn < NEGLECTED_UPDATES / 2) continue;
    sums.used += used;
    sums.fresh += fresh;
  }
  const updates = NEGLECTED_UPDATES / 2;
  return { used: (updates * 1000) / sums.used, fresh: (updates * 1000) / sums.fresh };
}

/** Updates per second of the last part, and of the first. */
async function updateOn(kept: BareClient, report: Bench['report']): Promise<Omit<Figures, 'goal'>> {
  const rates: number[] = [];
  for (let turn = 0; turn < UPDATES; turn += PART) {
    let sum = 0;
    for (let each = turn; each < turn + PART; each += 1) sum += await timeUpdate(kept, each);
    rates.push((PART * 1000) / sum);
    report(`${turn + PART} updates, ${rates.at(-1)?.toFixed(0)} a second`);
  }
  return { used: rates.at(-1) ?? 0, fresh: rates[0] ?? 0 };
}

async function timeUpdate(client: BareClient, turn: number): Promise<number> {
  const body = { updates: [['price', 'price + 1']], predicate: `id = ${(turn * 7) % UPDATED_ROWS}` };
  const startedAt = performance.now();
  expectSuccess(await client.send(jsonRequest('/v1/table/used/update', BENCH_KEY, body)));
  return performance.now() - startedAt;
}

/** Waits until nothing has shrunk for a while: maintenance pauses longer than it runs. */
async function whenSettled(root: string, report: Bench['report']): Promise<void> {
  let last = (await measureTables(root)).used;
  let stillSeconds = 0;
  for (let seconds = 0; seconds < SETTLE_SECONDS_MAX && stillSeconds < STILL_SECONDS; seconds += 15) {
    await sleep(15_000);
    const { used } = await measureTables(root);
    report(`${used} bytes on disk`);
    stillSeconds = used === last ? stillSeconds + 15 : 0;
    last = used;
  }
}

async function timeQueries(client: BareClient): Promise<Record<'used' | 'fresh', number>> {
  const random = randomNumbers(5);
  const times = { used: [] as number[], fresh: [] as number[] };
  for (let turn = 0; turn < QUERIES; turn += 1) {
    const vector = Array.from({ length: DIMENSION }, () => random() * 2 - 1);
    for (const name of ['used', 'fresh'] as const) {
      const request = jsonRequest(`/v1/table/${name}/query`, BENCH_KEY, { vector: { single_vector: vector }, k: 10 });
      const startedAt = performance.now();
      expectSuccess(await client.send(request));
      times[name].push(performance.now() - startedAt);
    }
  }
  return { used: median(times.used), fresh: median(times.fresh) };
}

async function measureTables(root: string): Promise<Record<'used' | 'fresh', number>> {
  const folders = await readdir(root);
  const measure = async (name: string): Promise<number> => {
    const folder = folders.find((each) => each.startsWith(`${name}-`));
    return folder === undefined ? 0 : measureFolder(join(root, folder));
  };
  return { used: await measure('used'), fresh: await measure('fresh') };
}

async function measureFolder(folder: string): Promise<number> {
  let bytes = 0;
  for (const entry of await readdir(folder, { withFileTypes: true, recursive: true })) {
    if (!entry.isFile()) continue;
    bytes += await stat(join(entry.parentPath, entry.name)).then(
      ({ size }) => size,
      () => 0,
    );
  }
  return bytes;
}
