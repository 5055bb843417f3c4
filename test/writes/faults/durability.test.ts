import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from '@lancedb/lancedb';
import { Client } from '../../support/client.ts';
import type { Answer } from '../../support/client.ts';
import { Int32, toStream } from '../../support/arrow-tables.ts';
import { startServerProcess } from '../../support/server-process.ts';

const KILLS = 50;
const WRITERS = 6;
/** Kills come after 0 to this many acknowledged writes, and a few milliseconds into the next. */
const WRITES_BETWEEN_MAX = 12;
const ROWS_OF_CREATED = 17;

/**
 * What a writer knows of its own row: each increment was acknowledged, refused, or nobody knows. An acknowledgement says
 * which transaction it is of: after a kill in the very moment of an answer, the next request with the same words may be
 * taken for the same request, and be told of the same transaction once more.
 */
interface Tally {
  readonly transactions: Set<string>;
  unknown: number;
}

test('50 kills of the worker under writes lose nothing that was acknowledged, and double nothing', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tiltyard-kill-'));
  const server = await startServerProcess(folder, ['--log-level=info']);
  const client = new Client(server.url);
  const counters = toStream({ id: [new Int32(), (row) => row], hits: [new Int32(), () => 0] }, WRITERS);
  const made = await client.arrow('/v1/table/counters/create', counters);
  assert.equal(made.status, 200, made.text);

  const state = { isOver: false };
  const tallies = Array.from({ length: WRITERS }, (): Tally => ({ transactions: new Set(), unknown: 0 }));
  const created = new Map<string, 'acknowledged' | 'unknown'>();
  const work = [
    ...tallies.map(async (tally, row) => increment(client, row, tally, state)),
    createTables(client, created, state),
  ];
  for (let kill = 0; kill < KILLS; kill += 1) {
    await acknowledgedAfter(tallies, kill % WRITES_BETWEEN_MAX);
    await sleep((kill * 37) % 20);
    await server.killWorker();
  }
  state.isOver = true;
  await Promise.all(work);

  const listed = await listAll(client);
  assert.equal(await server.stop(), 0);
  const database = await connect(folder);
  const table = await database.openTable(basename(made.json.location, '.lance'));
  for (const row of await table.query().toArray()) {
    const { transactions, unknown } = tallies[row.id] as Tally;
    const acknowledged = transactions.size;
    assert.ok(row.hits >= acknowledged, `row ${row.id}: ${acknowledged} acknowledged, ${row.hits} there`);
    assert.ok(
      row.hits <= acknowledged + unknown,
      `row ${row.id}: ${acknowledged} + ${unknown} sent, ${row.hits} there`,
    );
  }
  for (const [name, outcome] of created) {
    if (outcome === 'acknowledged') assert.ok(listed.has(name), `${name} was acknowledged and is not listed`);
  }
  for (const [name, location] of listed) {
    if (name === 'counters') continue;
    assert.equal(dirname(location), folder);
    const rows = await (await database.openTable(basename(location, '.lance'))).countRows();
    assert.equal(rows, ROWS_OF_CREATED, `${name} is listed with ${rows} rows`);
  }
  const writes = countAcknowledged(tallies);
  assert.ok(writes > KILLS, `only ${writes} writes were acknowledged`);
  await rm(folder, { recursive: true, force: true });
});

/** Waits until the service has acknowledged so many more writes, however long that takes on this machine. */
async function acknowledgedAfter(tallies: readonly Tally[], writes: number): Promise<void> {
  const wanted = countAcknowledged(tallies) + writes;
  while (countAcknowledged(tallies) < wanted) await sleep(1);
}

function countAcknowledged(tallies: readonly Tally[]): number {
  return tallies.reduce((sum, tally) => sum + tally.transactions.size, 0);
}

async function increment(
  client: Client,
  row: number,
  tally: Tally,
  state: { readonly isOver: boolean },
): Promise<void> {
  while (!state.isOver) {
    const answer = await attempt(
      client.post('/v1/table/counters/update', { updates: [['hits', 'hits + 1']], predicate: `id = ${row}` }),
    );
    if (answer?.status === 200) tally.transactions.add(answer.json.transaction_id ?? assert.fail(answer.text));
    else if (answer === undefined || answer.status >= 500) tally.unknown += 1;
    else assert.fail(answer.text);
  }
}

async function createTables(
  client: Client,
  created: Map<string, 'acknowledged' | 'unknown'>,
  state: { readonly isOver: boolean },
): Promise<void> {
  const stream = toStream({ id: [new Int32(), (row) => row] }, ROWS_OF_CREATED);
  for (let serial = 0; !state.isOver; serial += 1) {
    const name = `made-${serial}`;
    const answer = await attempt(client.arrow(`/v1/table/${name}/create`, stream));
    created.set(name, answer?.status === 200 ? 'acknowledged' : 'unknown');
    await sleep(5);
  }
}

async function listAll(client: Client): Promise<Map<string, string>> {
  const { json } = await client.get('/v1/tables');
  const tables = new Map<string, string>();
  for (const name of json.tables as string[]) {
    const described = await client.post(`/v1/table/${name}/describe`, {});
    assert.equal(described.status, 200, described.text);
    tables.set(name, described.json.location);
  }
  return tables;
}

/** `undefined` when the connection broke before the reply was there. */
async function attempt(answer: Promise<Answer>): Promise<Answer | undefined> {
  try {
    return await answer;
  } catch {
    return undefined;
  }
}
