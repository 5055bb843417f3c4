import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { openRawEngine } from './engine-side.ts';
import type { RawConnection } from './engine-side.ts';
import type { Comparison } from './measure.ts';
import { formatTable } from './report.ts';
import { compareAnalysis } from './scenarios/analysis.ts';
import { compareCreate } from './scenarios/create.ts';
import { compareInsert } from './scenarios/insert.ts';
import { compareList } from './scenarios/list.ts';
import { compareMaintenance } from './scenarios/maintenance.ts';
import { compareQuery } from './scenarios/query.ts';
import { compareUpdate, compareVersions } from './scenarios/update.ts';
import type { Bench } from './scenarios/scenario.ts';
import { startServerProcess } from './server-process.ts';

const SCENARIOS = {
  analysis: compareAnalysis,
  update: compareUpdate,
  versions: compareVersions,
  create: compareCreate,
  insert: compareInsert,
  query: compareQuery,
  list: compareList,
  maintenance: compareMaintenance,
};

/**
 * `npm run bench` runs all; `npm run bench -- update create` those whose names are given. Flags go to the server: the
 * engine never syncs, so that both sides leave that to the operating system unless `--storage-sync=full` is given.
 */
async function main(): Promise<void> {
  const given = process.argv.slice(2);
  const wanted = given.filter((word) => !word.startsWith('--'));
  const flags = given.filter((word) => word.startsWith('--'));
  if (!flags.some((flag) => flag.startsWith('--storage-sync'))) flags.push('--storage-sync=os');
  const folder = await mkdtemp(join(tmpdir(), 'tiltyard-bench-'));
  const server = await startServerProcess(join(folder, 'http'), flags);
  const openRaw = async (): Promise<RawConnection> => openRawEngine(join(folder, 'engine'));
  const raw = await openRaw();
  const results: Comparison[] = [];
  try {
    const report = (line: string): void => void process.stderr.write(`${line}\n`);
    const bench: Bench = { port: server.port, folder, raw, openRaw, report };
    for (const [name, run] of Object.entries(SCENARIOS)) {
      if (wanted.length > 0 && !wanted.includes(name)) continue;
      for await (const comparison of run(bench)) {
        results.push(comparison);
        bench.report(`${comparison.name}: ${comparison.ratio.toFixed(2)}`);
      }
    }
  } finally {
    await server.close();
    await rm(folder, { recursive: true, force: true });
  }
  process.stdout.write(formatTable(results));
  await keep(results);
}

async function keep(results: readonly Comparison[]): Promise<void> {
  await mkdir('bench/results', { recursive: true });
  const machine = {
    node: process.version,
    platform: process.platform,
    arch: process.arch,
    cores: availableParallelism(),
  };
  await writeFile('bench/results/latest.json', `${JSON.stringify({ machine, results }, undefined, 2)}\n`);
}

await main();
