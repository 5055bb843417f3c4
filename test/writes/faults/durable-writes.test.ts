import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from '@lancedb/lancedb';
import { Int32, Table, Utf8, tableToIPC, vectorFromArray } from 'apache-arrow';
import { Client } from '../../support/client.ts';
import type { Answer } from '../../support/client.ts';
import { startServerProcess } from '../../support/server-process.ts';

const KILLS = 3;
const ROWS_OF_BATCH = 4;
const MERGED_KEYS = 3;

type Outcome = 'acknowledged' | 'refused' | 'unknown';

/** What the writers know when all is over. Batches are numbered from 1; keys of merges are negative. */
interface Known {
  isOver: boolean;
  acknowledged: number;
  readonly inserted: Map<number, Outcome>;
  readonly deleted: Map<number, Outcome>;
  /** The last value that was acknowledged, for all keys together. */
  merged: number;
}

test('kills of the worker under inserts, merges and deletes leave each of them whole or undone', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tiltyard-kill-writes-'));
  const server = await startServerProcess(folder, ['--arrow-chunk-bytes=1MiB', '--log-level=info']);
  const client = new Client(server.url);
  const made = await client.arrow('/v1/table/writes/create', toStream(0, ['first']));
  assert.equal(made.status, 200, made.text);

  const known: Known = { isOver: false, acknowledged: 0, inserted: new Map(), deleted: new Map(), merged: 0 };
  const work = [
    insertShort(client, known),
    insertLong(client, known),
    merge(client, known),
    deleteBatches(client, known),
  ];
  for (let kill = 0; kill < KILLS; kill += 1) {
    // On a busy machine the worker may need a while before it acknowledges anything.
    for (const before = known.acknowledged; known.acknowledged < before + 4;) await sleep(10);
    await sleep((kill * 53) % 250);
    await server.killWorker();
  }
  known.isOver = true;
  await Promise.all(work);
  const reachable = await client.post('/v1/table/writes/describe', {});
  assert.equal(reachable.status, 200, reachable.text);
  assert.equal(await server.stop(), 0);

  const database = await connect(folder);
  const rows: { batch: number; text: string }[] = await (
    await database.openTable(basename(made.json.location, '.lance'))
  )
    .query()
    .select(['batch', 'text'])
    .toArray();
  assertWhole(rows, known);
  assertMerged(rows, known);
  for (const left of await readdir(join(folder, 'uploads')).catch(() => [])) {
    assert.deepEqual(await readdir(join(folder, 'uploads', left)), [], 'data of unfinished inserts is left');
  }
  await rm(folder, { recursive: true, force: true });
});

/** Every batch is there with all of its rows, or with none. */
function assertWhole(rows: readonly { batch: number }[], { inserted, deleted }: Known): void {
  const counts = new Map<number, number>();
  for (const { batch } of rows) counts.set(batch, (counts.get(batch) ?? 0) + 1);
  for (const [batch, outcome] of inserted) {
    const count = counts.get(batch) ?? 0;
    assert.ok(count === 0 || count === ROWS_OF_BATCH, `batch ${batch} has ${count} rows`);
    const removal = deleted.get(batch);
    if (outcome === 'refused') assert.equal(count, 0, `batch ${batch} was refused`);
    if (outcome === 'acknowledged' && removal === undefined)
      assert.equal(count, ROWS_OF_BATCH, `batch ${batch} is lost`);
    if (removal === 'acknowledged') assert.equal(count, 0, `batch ${batch} was deleted`);
  }
}

/** Every key once, with the value that was acknowledged last or a later one. */
function assertMerged(rows: readonly { batch: number; text: string }[], { merged }: Known): void {
  const keyed = rows.filter(({ batch }) => batch < 0);
  if (merged > 0) assert.equal(keyed.length, MERGED_KEYS);
  assert.equal(new Set(keyed.map(({ batch }) => batch)).size, keyed.length, 'a key is doubled');
  assert.equal(new Set(keyed.map(({ text }) => text)).size <= 1, true, 'a merge is half done');
  for (const { text } of keyed) assert.ok(Number(text) >= merged, `${text} is there, ${merged} was acknowledged`);
}

async function insertShort(client: Client, known: Known): Promise<void> {
  const texts = Array.from({ length: ROWS_OF_BATCH }, (_unused, row) => `short ${row}`);
  for (let batch = 1; !known.isOver; batch += 2) {
    known.inserted.set(batch, await attempt(client.arrow('/v1/table/writes/insert', toStream(batch, texts)), known));
    await sleep(5);
  }
}

/** One row in a record batch of its own, of more than a chunk: each is a commit. */
async function insertLong(client: Client, known: Known): Promise<void> {
  const text = '.'.repeat(1024 * 1024);
  for (let batch = 2; !known.isOver; batch += 2) {
    const row = toTable(batch, [text]);
    const stream = new Table(Array.from({ length: ROWS_OF_BATCH }, () => row.batches).flat());
    known.inserted.set(
      batch,
      await attempt(client.arrow('/v1/table/writes/insert', tableToIPC(stream, 'stream')), known),
    );
    await sleep(20);
  }
}

async function merge(client: Client, known: Known): Promise<void> {
  const query = 'on=batch&when_matched_update_all=true&when_not_matched_insert_all=true';
  for (let value = 1; !known.isOver; value += 1) {
    const keys = Array.from({ length: MERGED_KEYS }, (_unused, key) => -1 - key);
    const texts = keys.map(() => `${value}`);
    const columns = { batch: vectorFromArray(keys, new Int32()), text: vectorFromArray(texts, new Utf8()) };
    const stream = tableToIPC(new Table(columns), 'stream');
    if ((await attempt(client.arrow(`/v1/table/writes/merge_insert?${query}`, stream), known)) === 'acknowledged') {
      known.merged = value;
    }
    await sleep(5);
  }
}

async function deleteBatches(client: Client, known: Known): Promise<void> {
  while (!known.isOver) {
    await sleep(15);
    const batch = [...known.inserted].find(
      ([number, outcome]) =>
        outcome === 'acknowledged' && number % 3 === 0 && known.deleted.get(number) !== 'acknowledged',
    )?.[0];
    if (batch === undefined) continue;
    known.deleted.set(
      batch,
      await attempt(client.post('/v1/table/writes/delete', { predicate: `batch = ${batch}` }), known),
    );
  }
}

function toTable(batch: number, texts: readonly string[]): Table {
  const batches = texts.map(() => batch);
  return new Table({ batch: vectorFromArray(batches, new Int32()), text: vectorFromArray([...texts], new Utf8()) });
}

function toStream(batch: number, texts: readonly string[]): Uint8Array {
  return tableToIPC(toTable(batch, texts), 'stream');
}

async function attempt(answering: Promise<Answer>, known: Known): Promise<Outcome> {
  const answer = await answering.catch(() => undefined);
  if (answer?.status === 200) {
    known.acknowledged += 1;
    return 'acknowledged';
  }
  if (answer === undefined || answer.status >= 500) return 'unknown';
  return assert.fail(answer.text);
}
