import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { openRawEngine } from './engine-side.ts';
import type { RawConnection } from './engine-side.ts';
import type { Result } from './measure.ts';
import { formatTable, showFigure } from './report.ts';
import { compareAnalysis } from './scenarios/reads/analysis.ts';
import { compareBesideWriter } from './scenarios/reads/beside-writer.ts';
import { compareCeiling } from './scenarios/reads/ceiling.ts';
import { measureDiff } from './scenarios/reads/diff.ts';
import { compareCreate } from './scenarios/create.ts';
import { measureEvents } from './scenarios/events.ts';
import { countInsertCost } from './scenarios/insert-cost.ts';
import { measureComputed } from './scenarios/insert-computed.ts';
import { countFragments } from './scenarios/insert-fragments.ts';
import { compareFiltered } from './scenarios/filtered.ts';
import { compareInsertFull } from './scenarios/insert-full.ts';
import { compareInsert } from './scenarios/insert.ts';
import { measureExport } from './scenarios/files/export.ts';
import { measureImport } from './scenarios/files/import.ts';
import { compareList } from './scenarios/list.ts';
import { compareLookup } from './scenarios/reads/lookup.ts';
import { compareMaintenance } from './scenarios/maintenance.ts';
import { measureRecall } from './scenarios/recall.ts';
import { compareQuery } from './scenarios/reads/query.ts';
import { measureRepeat } from './scenarios/reads/repeat.ts';
import { measureStart } from './scenarios/reads/start.ts';
import { compareWriteCeiling } from './scenarios/write-ceiling.ts';
import { compareUpdate, compareVersions } from './scenarios/update.ts';
import type { Bench, Scenario } from './scenarios/scenario.ts';
import { startServerProcess } from './server-process.ts';
import { warmUp } from './warm-up.ts';

const SCENARIOS: Readonly<Record<string, Scenario>> = {
  analysis: compareAnalysis,
  update: compareUpdate,
  versions: compareVersions,
  create: compareCreate,
  insert: compareInsert,
  'insert-full': compareInsertFull,
  'insert-computed': measureComputed,
  'insert-cost': countInsertCost,
  'insert-fragments': countFragments,
  query: compareQuery,
  'beside-writer': compareBesideWriter,
  filtered: compareFiltered,
  recall: measureRecall,
  repeat: measureRepeat,
  lookup: compareLookup,
  diff: measureDiff,
  start: measureStart,
  ceiling: compareCeiling,
  'ceiling-writes': compareWriteCeiling,
  import: measureImport,
  export: measureExport,
  list: compareList,
  maintenance: compareMaintenance,
  events: measureEvents,
};

/**
 * `npm run bench` runs all scenarios; `npm run bench -- update insert` those with these names, including `insert-full`
 * and the like. Flags go to the server: the engine never syncs, so both sides leave that to the operating system unless
 * `--storage-sync=full` is given.
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
  const results: Result[] = [];
  try {
    const report = (line: string): void => void process.stderr.write(`${line}\n`);
    const bench: Bench = { port: server.port, flags, folder, raw, openRaw, openRawAt: openRawEngine, report };
    await warmUp(server.port);
    for (const [name, run] of Object.entries(SCENARIOS)) {
      if (wanted.length > 0 && !wanted.some((word) => isNamedBy(name, word))) continue;
      for await (const result of run(bench)) {
        results.push(result);
        bench.report(`${result.name}: ${showFigure(result)}`);
      }
    }
  } finally {
    await server.close();
    // The raw engine may still be writing.
    await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }
  process.stdout.write(formatTable(results));
  await keep(results);
}

function isNamedBy(scenario: string, word: string): boolean {
  return scenario === word || scenario.startsWith(`${word}-`);
}

async function keep(results: readonly Result[]): Promise<void> {
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
