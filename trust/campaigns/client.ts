import { connect } from '@lancedb/lancedb';
import type { Table } from '@lancedb/lancedb';
import { setTimeout as sleep } from 'node:timers/promises';
import { seededRandom } from '../../test/support/arrow-fixtures.ts';
import type { Campaign, Figure, Trust } from '../campaign.ts';
import { atLeast, atMost, none, info } from '../campaign.ts';
import { intRows, readRows, requireOk } from '../rows.ts';

const ADDERS = 4;
const ROWS_PER_ADD = 3;
const PATIENCE = 60;

/** The published client, whose own retries are the risk: it repeats an insert after a 5xx. */
export const client: Campaign = {
  name: 'client',
  promise: 'what the LanceDB client sends under kills and refusals is there once',
  async run(trust: Trust): Promise<readonly Figure[]> {
    const kills = trust.size(60, 6);
    const server = await trust.startServer(['--http-uploads-max=2']);
    await requireOk(server.admin.arrow('/v1/table/adds/create', intRows([], ['batch', 'part'])));
    const connection = await connect('db://default', { apiKey: server.key, hostOverride: server.url });
    const table = await connection.openTable('adds');
    const state = { isOver: false, next: 0, errors: 0 };
    const sent = new Set<number>();
    const adding = Array.from({ length: ADDERS }, async () => keepAdding(table, state, sent));
    const random = seededRandom(trust.seed);
    for (let kill = 0; kill < kills; kill += 1) {
      trust.progress(kill, kills);
      await sleep(200 + random(1200));
      await server.killWorker();
    }
    await sleep(500);
    state.isOver = true;
    await Promise.all(adding);
    connection.close();
    const rows = await readRows(server.admin, 'adds');
    const counts = new Map<number, number>();
    for (const { batch } of rows) counts.set(batch, (counts.get(batch) ?? 0) + 1);
    const missing = [...sent].filter((batch) => (counts.get(batch) ?? 0) < ROWS_PER_ADD);
    const doubled = [...counts.values()].filter((count) => count > ROWS_PER_ADD).length;
    return [
      atLeast('kills', kills, kills),
      info('adds that the client reported done', sent.size),
      info('errors that the client gave, after which the same was sent again', state.errors),
      info('rows sent', sent.size * ROWS_PER_ADD),
      info('rows present', rows.length),
      none('adds missing', missing.length),
      // The client sends no key, so an insert is applied again if a kill interrupts its response between mark and first
      // byte.
      atMost('adds doubled by a kill between mark and first byte', doubled, Math.ceil(kills / 20)),
    ];
  },
};

/** Like an application that insists: sends the same rows until the client reports success. */
async function keepAdding(
  table: Table,
  state: { readonly isOver: boolean; next: number; errors: number },
  sent: Set<number>,
): Promise<void> {
  while (!state.isOver) {
    const batch = state.next;
    state.next += 1;
    const rows = Array.from({ length: ROWS_PER_ADD }, (_unused, part) => ({ batch, part }));
    for (let tries = 0; tries < PATIENCE; tries += 1) {
      try {
        await table.add(rows);
        sent.add(batch);
        break;
      } catch {
        state.errors += 1;
        await sleep(100);
      }
    }
  }
}
