import { readdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { FINITE_OPERATIONS } from '../model/finite-operations.ts';
import type { Operation } from '../../src/operations/operation.ts';
import { seededRandom } from '../../test/support/arrow-fixtures.ts';
import { sampleStream } from '../../test/support/arrow-tables.ts';
import type { Campaign, Figure, Trust } from '../campaign.ts';
import { atLeast, none, info } from '../campaign.ts';
import type { HttpClient } from '../http.ts';
import { makeBody, spoil } from '../model/json-bodies.ts';
import type { Shape } from '../model/json-bodies.ts';
import { inParallel } from '../parallel.ts';
import { WITHOUT_SYNC } from '../server.ts';

const AT_ONCE = 8;
const TABLES = 4;
const RENEW_EVERY = 400;
const BODY_SHOWN_LENGTH = 8000;

/** Sends bodies that are almost valid to every operation. */
export const fuzzJson: Campaign = {
  name: 'json',
  promise: 'no JSON body ends the server or is answered with 5xx',
  async run(trust: Trust): Promise<readonly Figure[]> {
    const count = trust.size(100_000, 2500);
    const server = await trust.startServer([
      '--jobs-answer-seconds=1',
      '--jobs-waiting-max=10000',
      '--engine-upload-sessions-max=10000',
      WITHOUT_SYNC,
    ]);
    const admin = server.admin.patient();
    const outside = dirname(server.folder);
    const statuses = new Map<number, number>();
    let failed = 0;
    let broken = 0;
    await inParallel(count, AT_ONCE, async (index) => {
      trust.progress(index, count);
      if (index % RENEW_EVERY === 0) await renewTables(admin);
      const random = seededRandom(trust.seed + index);
      const operation = FINITE_OPERATIONS[index % FINITE_OPERATIONS.length] as Operation;
      const where = `seed ${trust.seed + index}, ${operation.id}`;
      const body = spoil(JSON.stringify(makeOperationBody(operation, random) ?? null), random);
      try {
        const reply = await send(admin, operation, body, random);
        statuses.set(reply.status, (statuses.get(reply.status) ?? 0) + 1);
        if (reply.status < 500) return;
        failed += 1;
        trust.blame(`${reply.status}`, `${where}: ${body.slice(0, BODY_SHOWN_LENGTH)} gave ${reply.text}`);
      } catch (error) {
        broken += 1;
        trust.blame('no answer', `${where}: ${body.slice(0, BODY_SHOWN_LENGTH)}: ${String(error)}`);
      }
    });
    const found = await readdir(outside);
    return [
      atLeast('JSON bodies', count, trust.size(100_000, 2500)),
      info('operations', FINITE_OPERATIONS.length),
      info(
        'statuses',
        [...statuses]
          .toSorted(([one], [other]) => one - other)
          .map(([status, times]) => `${status}×${times}`)
          .join(' '),
      ),
      none('5xx', failed),
      none('no answer', broken),
      none('files outside of the data folder', found.length - 1),
      none('worker crashes', server.crashes()),
    ];
  },
};

async function renewTables(client: HttpClient): Promise<void> {
  for (let table = 0; table < TABLES; table += 1) {
    await client.arrow(`/v1/table/table${table}/create?mode=exist_ok`, sampleStream(5));
  }
}

function makeOperationBody(operation: Operation, random: (below: number) => number): unknown {
  // Shapes are JSON Schema by construction.
  const shape = operation.body.kind === 'json' ? (operation.body.shape as unknown as Shape) : {};
  return makeBody(shape, random);
}

async function send(client: HttpClient, operation: Operation, body: string, random: (below: number) => number) {
  const method = operation.methods[random(operation.methods.length)] ?? 'POST';
  const path = `/v1${operation.path.replace(/^\/v1/, '')}`
    .replace(':id', `table${random(TABLES + 1)}`)
    .replaceAll(/:\w+/g, 'price_idx');
  const slash = random(4) === 0 ? '/' : '';
  if (method === 'GET')
    return client.get(`${path}${slash}?limit=${random(5)}&page_token=${encodeURIComponent(body.slice(0, 40))}`);
  return client.post(`${path}${slash}`, body);
}
