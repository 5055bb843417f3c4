import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from '@lancedb/lancedb';
import { Int32, toStream } from '../../support/arrow-tables.ts';
import { Client } from '../../support/client.ts';
import type { Answer } from '../../support/client.ts';
import { startServerProcess } from '../../support/server-process.ts';
import { ADMIN_KEY } from '../../support/server.ts';

const KILLS = 12;
const COUNTERS = 6;

interface State {
  isOver: boolean;
  done: number;
  /** The counters that have been answered. */
  readonly counted: Set<number>;
}

type Send = () => Promise<Answer>;

/** Sends the same request until it is answered, as a client does that wants it carried out. */
async function untilAnswered(send: Send): Promise<Answer> {
  for (;;) {
    const answer = await send().catch(() => undefined);
    if (answer?.status === 200) return answer;
    if (answer !== undefined && answer.status !== 503) assert.fail(answer.text);
    await sleep(10);
  }
}

interface Told {
  readonly headers: Record<string, string>;
  readonly note: string;
}

/** How a request says that it is the same one: by a key, by being like no other, or not at all. */
const WAYS: readonly (() => Told)[] = [
  () => ({ headers: { 'idempotency-key': randomUUID() }, note: '' }),
  () => ({ headers: {}, note: ` AND '${randomUUID()}' <> ''` }),
  () => ({ headers: {}, note: '' }),
];
/** Without a key, one whose response a kill cut off between its mark and its first byte counts twice. */
const KEYED = 0;

async function count(client: Client, row: number, state: State): Promise<number> {
  let hits = 0;
  for (; !state.isOver; hits += 1) {
    const { headers, note } = WAYS[row % WAYS.length]?.() ?? assert.fail();
    const body = { updates: [['hits', 'hits + 1']], predicate: `id = ${row}${note}` };
    await untilAnswered(async () => client.post('/v1/table/counters/update', body, headers));
    state.done += 1;
    state.counted.add(row);
  }
  return hits;
}

async function insert(client: Client, state: State): Promise<number> {
  let rows = 0;
  for (; !state.isOver; rows += 1) {
    const id = rows;
    const stream = toStream({ id: [new Int32(), () => id] }, 1);
    const headers = { 'idempotency-key': `row ${id}` };
    await untilAnswered(async () => client.arrow('/v1/table/log/insert', stream, headers));
    state.done += 1;
  }
  return rows;
}

/** The LanceDB client sends a write again by itself, an insert under a new id; past three times it gives up. */
async function addWithClient(url: string, state: State): Promise<readonly number[]> {
  const remote = await connect('db://default', { apiKey: ADMIN_KEY, hostOverride: url });
  const table = await remote.openTable('lancedb');
  const added: number[] = [];
  for (let id = 0; !state.isOver; id += 1) {
    const isAdded = await table.add([{ id }]).then(
      () => true,
      () => false,
    );
    if (isAdded) added.push(id);
    state.done += 1;
  }
  remote.close();
  return added;
}

test('writes that are sent until they are answered are carried out exactly once, whatever dies', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tiltyard-once-'));
  const server = await startServerProcess(folder);
  const client = new Client(server.url);
  const stream = toStream({ id: [new Int32(), (row) => row], hits: [new Int32(), () => 0] }, COUNTERS);
  const made: Record<string, Answer> = {
    counters: await client.arrow('/v1/table/counters/create', stream),
    log: await client.arrow('/v1/table/log/create', toStream({ id: [new Int32(), (row) => row] }, 0)),
    lancedb: await client.arrow('/v1/table/lancedb/create', toStream({ id: [new Int32(), (row) => row] }, 0)),
  };
  const state: State = { isOver: false, done: 0, counted: new Set() };
  const counting = Promise.all(Array.from({ length: COUNTERS }, async (_, row) => count(client, row, state)));
  const inserting = insert(client, state);
  const adding = addWithClient(server.url, state);
  // Only then is a request that is like the one before known as one that is sent on purpose.
  while (state.counted.size < COUNTERS) await sleep(3);
  for (let kill = 0; kill < KILLS; kill += 1) {
    const wanted = state.done + 5 + kill;
    while (state.done < wanted) await sleep(3);
    await server.killWorker();
  }
  const wanted = state.done + COUNTERS;
  while (state.done < wanted) await sleep(3);
  state.isOver = true;
  const [hits, rows, added] = await Promise.all([counting, inserting, adding]);
  assert.equal(await server.stop(), 0);

  const database = await connect(folder);
  const read = async (name: string): Promise<readonly { id: number; hits?: number }[]> => {
    const table = await database.openTable(basename(made[name]?.json.location, '.lance'));
    return (await table.query().toArray()).map((row) => ({ id: row.id, hits: row.hits }));
  };
  for (const { id, hits: found = 0 } of await read('counters')) {
    const sent = hits[id] ?? assert.fail();
    const mayBeMore = id % WAYS.length === KEYED ? 0 : KILLS;
    assert.ok(found >= sent && found <= sent + mayBeMore, `counter ${id} is ${found} after ${sent} updates`);
  }
  const logged = (await read('log')).map(({ id }) => id).toSorted((one, other) => one - other);
  assert.deepEqual(
    logged,
    Array.from({ length: rows }, (_, id) => id),
  );
  const ids = (await read('lancedb')).map(({ id }) => id);
  // Without a key a row is there twice when a kill fell between the mark of its response and the first byte.
  const doubled = ids.length - new Set(ids).size;
  assert.ok(doubled <= KILLS, `${doubled} rows of the LanceDB client are there twice`);
  for (const id of added) assert.ok(ids.includes(id), `row ${id} of the LanceDB client is lost`);
  assert.ok(added.length > 0);
  await rm(folder, { recursive: true, force: true });
});
