import { join } from 'node:path';
import { countOf, runOperations } from '../measure.ts';
import type { Count } from '../measure.ts';
import { readFragments } from '../server-figures.ts';
import { startServerProcess, withFlags } from '../server-process.ts';
import { openInserts } from './insert.ts';
import type { Bench } from './scenario.ts';

const INSERTS = 1000;
const WRITERS = 8;
const TABLE = 'fragments';

/** The fragments that maintenance would find: inserts that share a commit share a fragment. */
export async function* countFragments(bench: Bench): AsyncGenerator<Count> {
  const flags = withFlags(bench.flags, ['--maintenance-running-max=0']);
  const server = await startServerProcess(join(bench.folder, 'unmaintained'), flags);
  try {
    const inserts = await openInserts(server.port, TABLE, { writers: WRITERS, rows: 1 });
    const before = await readFragments(server.port, TABLE);
    await runOperations(inserts.work, WRITERS, INSERTS);
    const made = (await readFragments(server.port, TABLE)) - before;
    inserts.close();
    yield countOf(
      `fragments of ${INSERTS.toLocaleString('en')} inserts of 1 row, ${WRITERS} writers, no maintenance`,
      [made],
      350,
    );
  } finally {
    await server.close();
  }
}
