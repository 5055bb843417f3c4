import { join } from 'node:path';
import type { Comparison } from '../measure.ts';
import { startServerProcess, withFlags } from '../server-process.ts';
import { warmUp } from '../warm-up.ts';
import { compareInsertCase } from './insert.ts';
import type { InsertCase } from './insert.ts';
import type { Bench } from './scenario.ts';

const CASES: readonly InsertCase[] = [
  { writers: 1, rows: 100, operations: 100, goal: 0.45, sync: 'full' },
  { writers: 8, rows: 100, operations: 160, goal: 1.5, sync: 'full' },
];

/** The server syncs every commit; the engine never does. */
export async function* compareInsertFull({ folder, flags, raw }: Bench): AsyncGenerator<Comparison> {
  const server = await startServerProcess(join(folder, 'full'), withFlags(flags, ['--storage-sync=full']));
  try {
    await warmUp(server.port);
    for (const each of CASES) yield await compareInsertCase({ port: server.port, raw }, each);
  } finally {
    await server.close();
  }
}
