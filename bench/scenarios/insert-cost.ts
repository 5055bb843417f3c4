import { join } from 'node:path';
import { countOf, median, runOperations } from '../measure.ts';
import type { Count } from '../measure.ts';
import { readCounters } from '../server-figures.ts';
import { startServerProcess, withFlags } from '../server-process.ts';
import { describeInsert, openInserts } from './insert.ts';
import type { Bench } from './scenario.ts';

const CASE = { writers: 8, rows: 100, sync: 'full' } as const;
const TURNS = 160;
const ROUNDS = 3;

/** Maintenance is off, because its commits and syncs would be counted too. */
export async function* countInsertCost({ folder, flags, report }: Bench): AsyncGenerator<Count> {
  const own = ['--storage-sync=full', '--maintenance-running-max=0'];
  const server = await startServerProcess(join(folder, 'cost'), withFlags(flags, own));
  try {
    const costs = await measureRounds(server.port);
    const commits = costs.map(({ catalogCommits }) => catalogCommits);
    const tableSyncs = costs.map((cost) => cost.tableSyncs);
    report(`fsyncs of table files and folders alone: ${median(tableSyncs).toFixed(2)} per insert`);
    yield countOf(`catalog commits per insert: ${describeInsert(CASE)}`, commits, 0.7);
    const fsyncs = costs.map((cost) => cost.tableSyncs + cost.catalogSyncs);
    yield countOf(`fsyncs per insert: ${describeInsert(CASE)}`, fsyncs, 2.5);
  } finally {
    await server.close();
  }
}

interface InsertCost {
  readonly catalogCommits: number;
  readonly tableSyncs: number;
  readonly catalogSyncs: number;
}

async function measureRounds(port: number): Promise<readonly InsertCost[]> {
  const inserts = await openInserts(port, 'cost', CASE);
  const costs: InsertCost[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const before = await readCounters(port);
    await runOperations(inserts.work, CASE.writers, TURNS);
    const after = await readCounters(port);
    costs.push({
      catalogCommits: (after.catalogCommits - before.catalogCommits) / TURNS,
      tableSyncs: (after.tableSyncs - before.tableSyncs) / TURNS,
      catalogSyncs: (after.catalogSyncs - before.catalogSyncs) / TURNS,
    });
  }
  inserts.close();
  return costs;
}
