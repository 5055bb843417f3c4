import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { countOf } from '../../measure.ts';
import type { Count } from '../../measure.ts';
import { BENCH_KEY, startServerProcess, withFlags } from '../../server-process.ts';
import { BenchTable, ClusteredVectors } from '../clustered-table.ts';
import type { Bench } from '../scenario.ts';

/** `DIFF_ROWS` sets another size. */
const ROWS = Number(process.env['DIFF_ROWS'] ?? 1_000_000);
const CHANGES = 1000;
const ROUNDS = 3;

/**
 * Two versions of a table that differ in few rows: the time, the memory of the worker, and the time to read both
 * completely.
 */
export async function* measureDiff({ folder, flags, report }: Bench): AsyncGenerator<Count> {
  const server = await startServerProcess(join(folder, 'diff'), withFlags(flags, ['--maintenance-running-max=0']));
  try {
    const table = new BenchTable(server.port, 'diffed');
    await table.create(new ClusteredVectors(), ROWS);
    const { version } = await table.call('describe', {});
    await table.call('update', { updates: [['bucket', '-1']], predicate: `id % ${ROWS / CHANGES} = 3` });
    report(`${ROWS} rows, ${CHANGES} of them updated`);
    const memory = await watchMemory(server.pid);
    const seconds: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      seconds.push(await secondsOf(async () => diff(table, version)));
    }
    yield countOf(`seconds of a diff of ${ROWS} × 128 with ${CHANGES} changes`, seconds, 3);
    yield countOf('MiB that the worker took for it', [await memory()], 400);
    const whole = await secondsOf(async () => {
      for (const at of [version, version + 1]) await readWhole(server.port, at);
    });
    const ratios = seconds.map((each) => each / whole);
    yield countOf('the time, relative to reading both versions as Arrow', ratios, 0.2);
  } finally {
    await server.close();
  }
}

async function diff(table: BenchTable, version: number): Promise<void> {
  const { counts } = await table.call('diff', { from: { version }, limit: CHANGES });
  if (counts.changed !== CHANGES) throw new Error(`the diff has ${JSON.stringify(counts)}`);
}

async function readWhole(port: number, version: number): Promise<void> {
  const headers = {
    'x-api-key': BENCH_KEY,
    'content-type': 'application/json',
    accept: 'application/vnd.apache.arrow.stream',
  };
  const body = JSON.stringify({ version });
  const reply = await fetch(`http://127.0.0.1:${port}/v1/table/diffed/query`, { method: 'POST', headers, body });
  for await (const _piece of reply.body ?? []);
}

async function secondsOf(work: () => Promise<void>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return (performance.now() - startedAt) / 1000;
}

/** Returns a function for the worker's peak growth since now, in MiB. Linux only. */
async function watchMemory(supervisor: number): Promise<() => Promise<number>> {
  const children = await readFile(`/proc/${supervisor}/task/${supervisor}/children`, 'utf8');
  const [worker = ''] = children.trim().split(' ');
  // Resets the peak to the current usage.
  await writeFile(`/proc/${worker}/clear_refs`, '5');
  const before = await readMebibytes(worker, 'VmRSS');
  return async () => (await readMebibytes(worker, 'VmHWM')) - before;
}

async function readMebibytes(pid: string, field: 'VmRSS' | 'VmHWM'): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(new RegExp(`${field}:\\s+(\\d+) kB`).exec(status)?.[1] ?? 0) / 1024;
}
