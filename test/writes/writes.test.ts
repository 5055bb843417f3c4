import assert from 'node:assert/strict';
import { readdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { Int32, Utf8 } from 'apache-arrow';
import { ServiceError } from '../../src/errors/service-error.ts';
import type { WriteStep } from '../../src/writes/writes.ts';
import { latest, openApart, readRows, toQuery, toStream } from '../engine/test-engine.ts';
import { toItems, toTable } from '../engine/sample-tables.ts';
import { refusal } from '../support/refusal.ts';
import { openWriteFixture } from './write-fixture.ts';

suite('a write', () => {
  test('goes through the steps of the protocol in order, and is in the transaction feed', async (t) => {
    const steps: WriteStep[] = [];
    const room = await openWriteFixture(t, { onStep: (step) => void steps.push(step) });
    await room.create(toItems(3));
    const success = await room.update([['score', '2']], 'id = 1');
    assert.deepEqual(steps, ['replay', 'enqueue', 'batch', 'own', 'begin', 'commit', 'sync', 'record']);
    const transaction = await room.catalog.transactions.find(success.transactionId ?? '');
    assert.deepEqual([transaction?.operation, transaction?.version, transaction?.caller], ['update_table', 2, 'ann']);
  });

  test('that is refused changes nothing, and is gone from the journal', async (t) => {
    const room = await openWriteFixture(t);
    await room.create(toItems(3));
    await assert.rejects(room.update([['nope', '1']]), refusal('TableColumnNotFound'));
    await assert.rejects(room.update([['id', "'abc'"]]), refusal('InvalidInput'));
    assert.equal(await room.version(), 1);
    while ((await room.catalog.journal.pending()).length > 0) await new Promise(setImmediate);
  });

  test('heeds If-Match, against the version that it will follow', async (t) => {
    const room = await openWriteFixture(t);
    await room.create(toItems(3));
    await assert.rejects(
      room.update([['score', '2']], undefined, { expectedVersion: 2 }),
      refusal('PreconditionFailed', /latest version is 1, not 2/),
    );
    const results = await room.behindWrite([
      async () => room.update([['score', 'score + 1']], undefined, { expectedVersion: 1 }),
      async () => room.update([['score', 'score + 1']], undefined, { expectedVersion: 1 }),
    ]);
    assert.deepEqual(
      results.map(({ status }) => status),
      ['fulfilled', 'rejected'],
    );
    assert.equal(await room.version(), 2);
  });

  test('is tried again on the newer version when another program was faster', async (t) => {
    const room = await openWriteFixture(t);
    await room.create(toItems(3));
    const entry = { path: ['id'] as const, metadata: { unit: 'm' }, replace: false };
    await room.fieldMetadata([entry]);
    const apart = await openApart(t, room.state());
    await apart.updateFieldMetadata([{ path: 'id', metadata: { a: 'b' }, replace: false }]);
    assert.equal((await room.fieldMetadata([{ ...entry, metadata: { c: 'd' } }])).version, 4);
    const { schema } = await room.engine.describeTable(room.state());
    assert.deepEqual(Object.fromEntries(schema.fields[0]?.metadata ?? []), { unit: 'm', a: 'b', c: 'd' });
  });

  test('whose client leaves while it waits is not begun; one that has begun goes on', async (t) => {
    const room = await openWriteFixture(t);
    await room.create(toItems(3));
    const client = new AbortController();
    const [waiting] = await room.behindWrite([
      async () => room.insert(toItems(1), { signal: client.signal }),
      async () => {
        client.abort();
        return room.insert(toItems(0));
      },
    ]);
    assert.equal(waiting?.status, 'rejected');
    assert.equal(await room.version(), 1);
    assert.equal((await room.insert(toItems(1), { signal: client.signal })).version, 2);
  });
});

suite('writes at once', () => {
  test('of merges of one new key, one inserts it and the others update it', async (t) => {
    const room = await openWriteFixture(t);
    const rows = (name: string, id: number) => toTable({ id: [new Int32(), [id]], name: [new Utf8(), [name]] });
    await room.create(rows('a', 1));
    const outcomes = await Promise.all(['p', 'q', 'r', 's', 'u', 'v'].map(async (name) => room.merge(rows(name, 9))));
    assert.equal((await readRows(t, room.state())).filter(({ id }) => id === 9).length, 1);
    assert.equal(outcomes.filter(({ fields }) => fields['num_inserted_rows'] === 1).length, 1);
  });

  test('changes of the metadata of one field are all applied', async (t) => {
    const room = await openWriteFixture(t);
    await room.create(toItems(3));
    const keys = Array.from({ length: 16 }, (_, index) => `key${index}`);
    await Promise.all(
      keys.map(async (key) => room.fieldMetadata([{ path: ['id'], metadata: { [key]: 'x' }, replace: false }])),
    );
    const { schema } = await room.engine.describeTable(room.state());
    assert.ok(keys.every((key) => schema.fields[0]?.metadata.get(key) === 'x'));
  });

  test('that keep others waiting for too long are noticed, until they are over', async (t) => {
    const room = await openWriteFixture(t, { limits: { queueHoldSeconds: 0 } });
    await room.create(toItems(3));
    const update = async () => room.update([['score', '2']]);
    const noticing = async () => {
      assert.throws(() => room.writes.requireMoving(), ServiceError);
      return update();
    };
    const results = await room.behindWrite([update, noticing]);
    assert.ok(results.every(({ status }) => status === 'fulfilled'));
    room.writes.requireMoving();
  });
});

suite('a removal', () => {
  test('comes after the writes before it, and a write after it brings nothing back', async (t) => {
    const room = await openWriteFixture(t);
    const table = await room.create(toItems(3));
    const update = async () => room.update([['score', 'score + 1']]);
    const results = await room.behindWrite<unknown>([
      ...Array.from({ length: 4 }, () => update),
      async () => room.writes.removeTable(room.location()),
    ]);
    assert.ok(results.every(({ status }) => status === 'fulfilled'));
    assert.deepEqual(await readdir(room.root), []);
    await assert.rejects(room.engine.analyzeQuery(table, toQuery({})), refusal('TableNotFound'));
    await assert.rejects(update(), ServiceError);
    assert.deepEqual(await readdir(room.root), []);
  });

  test('of what is not there is fine', async (t) => {
    const room = await openWriteFixture(t);
    await room.writes.removeTable(room.location('never'));
  });
});

test('a storage root that is missing is refused, before and after it was used, and never made', async (t) => {
  const room = await openWriteFixture(t);
  const isMissing = refusal('ServiceUnavailable', /storage root of the database is missing/);
  const away = join(room.folder, 'away');
  const create = async (directory: string) =>
    room.writes.createTable(room.location(directory), await toStream(toItems(3)), {});
  await rename(room.root, away);
  await assert.rejects(create('early'), isMissing);
  await rename(away, room.root);
  await room.create(toItems(3));
  await room.update([['score', '2']]);
  await rename(room.root, away);
  await assert.rejects(create('late'), isMissing);
  await assert.rejects(room.update([['score', '2']]), isMissing);
  await assert.rejects(room.insert(toItems(1)), isMissing);
  assert.ok(!(await readdir(room.folder)).includes('data'));
  await rename(away, room.root);
  assert.equal((await room.update([['score', '2']])).version, 3);
});

test('a clone is a table of its own', async (t) => {
  const room = await openWriteFixture(t);
  const source = await room.create(toItems(3));
  const target = room.location('clone');
  const work = async () => room.engine.lifecycle.clone(source, target);
  assert.equal(await room.writes.cloneTable(source.location, target, work), 1);
  await room.update([['score', '9']]);
  assert.deepEqual(
    (await readRows(t, latest(target))).map(({ score }) => score),
    [1, 1, 1],
  );
});

suite('an upload', () => {
  const APPEND = { mode: 'append', name: undefined } as const;

  test('is seen when it is completed, and completing it again gives the same result', async (t) => {
    const room = await openWriteFixture(t);
    await room.create(toItems(3));
    const { writes } = room;
    const target = { location: room.location(), branch: undefined };
    const upload = { id: await writes.beginUpload({ owner: 'ann', target }), owner: 'ann', target };
    for (const rows of [2, 5]) {
      assert.equal(await writes.insertPart(upload, async () => toStream(toItems(rows)), APPEND), rows);
    }
    assert.equal(await room.version(), 1);
    const complete = async () =>
      writes.completeUpload(upload, {
        request: room.request('complete_upload', { digest: 'd' }),
        table: await room.table(),
        branch: undefined,
        recordedAs: 'insert_into_table',
        toFields: ({ rows }) => ({ num_inserted_rows: rows }),
      });
    const [first, second] = [await complete(), await complete()];
    assert.deepEqual(first, second);
    assert.ok(first.kind === 'committed');
    assert.deepEqual(first.fields, { num_inserted_rows: 7 });
    assert.equal((await readRows(t, room.state())).length, 10);
    assert.deepEqual(await readdir(join(room.folder, 'uploads', String(process.pid))), []);
  });
});
