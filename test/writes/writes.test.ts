import assert from 'node:assert/strict';
import { readdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { Int32, Utf8 } from 'apache-arrow';
import { ServiceError } from '../../src/errors/service-error.ts';
import type { WriteStep } from '../../src/writes/writes.ts';
import { latest, openApart, readRows, sql, toQuery, toStream } from '../engine/test-engine.ts';
import { toItems, toTable } from '../engine/sample-tables.ts';
import { watchCommits } from '../engine/watched-native.ts';
import { refusal } from '../support/refusal.ts';
import { openWriteFixture } from './write-fixture.ts';

suite('a write', () => {
  test('goes through the steps of the protocol in order, and is in the transaction feed', async (t) => {
    const steps: WriteStep[] = [];
    const fixture = await openWriteFixture(t, { onStep: (step) => void steps.push(step) });
    await fixture.create(toItems(3));
    const success = await fixture.update([['score', '2']], 'id = 1');
    assert.deepEqual(steps, ['replay', 'enqueue', 'batch', 'own', 'begin', 'commit', 'sync', 'record']);
    const transaction = await fixture.catalog.transactions.find(success.transactionId ?? '');
    assert.deepEqual([transaction?.operation, transaction?.version, transaction?.caller], ['update_table', 2, 'ann']);
  });

  test('that is refused changes nothing, and is gone from the journal', async (t) => {
    const fixture = await openWriteFixture(t);
    await fixture.create(toItems(3));
    await assert.rejects(fixture.update([['nope', '1']]), refusal('TableColumnNotFound'));
    await assert.rejects(fixture.update([['id', "'abc'"]]), refusal('InvalidInput'));
    assert.equal(await fixture.version(), 1);
    while ((await fixture.catalog.journal.pending()).length > 0) await new Promise(setImmediate);
  });

  test('is recorded before its table is deregistered, and refused afterwards', async (t) => {
    let isRecording = (): void => {};
    const recording = new Promise<void>((resolve) => (isRecording = resolve));
    let record = (): void => {};
    const mayRecord = new Promise<void>((resolve) => (record = resolve));
    const onStep = async (step: WriteStep): Promise<void> => {
      if (step !== 'record') return;
      isRecording();
      await mayRecord;
    };
    const fixture = await openWriteFixture(t, { onStep });
    const { catalog, writes } = fixture;
    await fixture.create(toItems(3));
    const table = await fixture.table();
    const entry = { operation: 'deregister_table', caller: 'ann', version: 0, requestId: 'request' };
    const insert = fixture.insert(toItems(2), { key: 'k' });
    await recording;
    const deregister = async () => catalog.tables.deregister(table, entry);
    await assert.rejects(deregister(), refusal('ServiceUnavailable', /not finished/));
    const released = writes.release(table, deregister);
    const late = writes.run({
      request: fixture.request('delete_from_table'),
      table,
      branch: undefined,
      recordedAs: 'delete_from_table',
      plan: fixture.engine.commits.delete(sql('id = 0')),
      rule: { from: 'nothing' },
      toFields: () => ({}),
    });
    record();
    const { transactionId } = await insert;
    assert.ok(transactionId !== undefined);
    await released;
    assert.equal((await catalog.journal.findByKey('ann', 'k'))?.transactionId, transactionId);
    const result = await late;
    assert.ok('error' in result && result.error.kind === 'TableNotFound');
    const apart = await openApart(t, fixture.state());
    assert.equal(await apart.countRows(), 5);
  });

  test('heeds If-Match, against the version that it will follow', async (t) => {
    const fixture = await openWriteFixture(t);
    await fixture.create(toItems(3));
    await assert.rejects(
      fixture.update([['score', '2']], undefined, { expectedVersion: 2 }),
      refusal('PreconditionFailed', /latest version is 1, not 2/),
    );
    const results = await fixture.behindWrite([
      async () => fixture.update([['score', 'score + 1']], undefined, { expectedVersion: 1 }),
      async () => fixture.update([['score', 'score + 1']], undefined, { expectedVersion: 1 }),
    ]);
    assert.deepEqual(
      results.map(({ status }) => status),
      ['fulfilled', 'rejected'],
    );
    assert.equal(await fixture.version(), 2);
  });

  test('is tried again on the newer version when another program was faster', async (t) => {
    const fixture = await openWriteFixture(t);
    await fixture.create(toItems(3));
    const entry = { path: ['id'] as const, metadata: { unit: 'm' }, replace: false };
    await fixture.fieldMetadata([entry]);
    const apart = await openApart(t, fixture.state());
    await apart.updateFieldMetadata([{ path: 'id', metadata: { a: 'b' }, replace: false }]);
    assert.equal((await fixture.fieldMetadata([{ ...entry, metadata: { c: 'd' } }])).version, 4);
    const { schema } = await fixture.engine.describeTable(fixture.state());
    assert.deepEqual(Object.fromEntries(schema.fields[0]?.metadata ?? []), { unit: 'm', a: 'b', c: 'd' });
  });

  test('whose client leaves while it waits is not begun; one that has begun continues', async (t) => {
    const fixture = await openWriteFixture(t);
    await fixture.create(toItems(3));
    const client = new AbortController();
    const [waiting] = await fixture.behindWrite([
      async () => fixture.insert(toItems(1), { signal: client.signal }),
      async () => {
        client.abort();
        return fixture.insert(toItems(0));
      },
    ]);
    assert.equal(waiting?.status, 'rejected');
    assert.equal(await fixture.version(), 1);
    assert.equal((await fixture.insert(toItems(1), { signal: client.signal })).version, 2);
  });
});

suite('writes at once', () => {
  test('of merges of one new key, one inserts it and the others update it', async (t) => {
    const fixture = await openWriteFixture(t);
    const rows = (name: string, id: number) => toTable({ id: [new Int32(), [id]], name: [new Utf8(), [name]] });
    await fixture.create(rows('a', 1));
    const outcomes = await Promise.all(
      ['p', 'q', 'r', 's', 'u', 'v'].map(async (name) => fixture.merge(rows(name, 9))),
    );
    assert.equal((await readRows(t, fixture.state())).filter(({ id }) => id === 9).length, 1);
    assert.equal(outcomes.filter(({ fields }) => fields['num_inserted_rows'] === 1).length, 1);
  });

  test('changes of the metadata of one field are all applied', async (t) => {
    const fixture = await openWriteFixture(t);
    await fixture.create(toItems(3));
    const keys = Array.from({ length: 16 }, (_, index) => `key${index}`);
    await Promise.all(
      keys.map(async (key) => fixture.fieldMetadata([{ path: ['id'], metadata: { [key]: 'x' }, replace: false }])),
    );
    const { schema } = await fixture.engine.describeTable(fixture.state());
    assert.ok(keys.every((key) => schema.fields[0]?.metadata.get(key) === 'x'));
  });

  test('that keep others waiting for too long are noticed, until they are over', async (t) => {
    const fixture = await openWriteFixture(t, { limits: { queueHoldSeconds: 0 } });
    await fixture.create(toItems(3));
    const update = async () => fixture.update([['score', '2']]);
    const noticing = async () => {
      assert.throws(() => fixture.writes.queues.requireMoving(), ServiceError);
      return update();
    };
    const results = await fixture.behindWrite([update, noticing]);
    assert.ok(results.every(({ status }) => status === 'fulfilled'));
    fixture.writes.queues.requireMoving();
  });
});

suite('a removal', () => {
  test('that a tag has to wait for refuses it clearly: nothing was changed', async (t) => {
    let release = (): void => {};
    const held = new Promise<void>((resolve) => (release = resolve));
    const native = watchCommits(async (call, name) => {
      if (name === 'optimize') await held;
      return call();
    });
    const fixture = await openWriteFixture(t, { native });
    const { engine, writes } = fixture;
    const { location } = await fixture.create(toItems(3));
    await fixture.update([['score', '2']]);
    await fixture.update([['score', '3']]);
    const removal = { cutoff: Infinity, blocksWriters: false };
    const { finish } = await engine.maintenance.startOptimize(location, removal);
    const tagged = writes.change(await fixture.table(), async (confirm) =>
      engine.versions.createTag({ location, branch: undefined }, { tag: 'old', version: 1 }, confirm),
    );
    await assert.rejects(tagged, refusal('ServiceUnavailable', /^Old versions of the table are being removed/));
    release();
    await finish();
  });

  test('comes after the writes before it, and a write after it brings nothing back', async (t) => {
    const fixture = await openWriteFixture(t);
    const table = await fixture.create(toItems(3));
    const update = async () => fixture.update([['score', 'score + 1']]);
    const results = await fixture.behindWrite<unknown>([
      ...Array.from({ length: 4 }, () => update),
      async () => fixture.writes.removeTable(fixture.location()),
    ]);
    assert.ok(results.every(({ status }) => status === 'fulfilled'));
    assert.deepEqual(await readdir(fixture.root), []);
    await assert.rejects(fixture.engine.analyzeQuery(table, toQuery({})), refusal('TableNotFound'));
    await assert.rejects(update(), ServiceError);
    assert.deepEqual(await readdir(fixture.root), []);
  });

  test('of what is not there is fine', async (t) => {
    const fixture = await openWriteFixture(t);
    await fixture.writes.removeTable(fixture.location('never'));
  });
});

test('a storage root that is missing is refused, before and after it was used, and never made', async (t) => {
  const fixture = await openWriteFixture(t);
  const isMissing = refusal('ServiceUnavailable', /storage root of the database is missing/);
  const away = join(fixture.folder, 'away');
  const create = async (directory: string) =>
    fixture.writes.createTable(fixture.location(directory), await toStream(toItems(3)), {});
  await rename(fixture.root, away);
  await assert.rejects(create('early'), isMissing);
  await rename(away, fixture.root);
  await fixture.create(toItems(3));
  await fixture.update([['score', '2']]);
  await rename(fixture.root, away);
  await assert.rejects(create('late'), isMissing);
  await assert.rejects(fixture.update([['score', '2']]), isMissing);
  await assert.rejects(fixture.insert(toItems(1)), isMissing);
  assert.ok(!(await readdir(fixture.folder)).includes('data'));
  await rename(away, fixture.root);
  assert.equal((await fixture.update([['score', '2']])).version, 3);
});

test('a clone is independent of its source', async (t) => {
  const fixture = await openWriteFixture(t);
  const source = await fixture.create(toItems(3));
  const target = fixture.location('clone');
  const work = async () => fixture.engine.lifecycle.clone(source, target);
  assert.equal(await fixture.writes.cloneTable(source.location, target, work), 1);
  await fixture.update([['score', '9']]);
  assert.deepEqual(
    (await readRows(t, latest(target))).map(({ score }) => score),
    [1, 1, 1],
  );
});

suite('an upload', () => {
  const APPEND = { mode: 'append', name: undefined } as const;

  test('is seen when it is completed, and completing it again gives the same result', async (t) => {
    const fixture = await openWriteFixture(t);
    await fixture.create(toItems(3));
    const { writes } = fixture;
    const target = { location: fixture.location(), branch: undefined };
    const upload = { id: await writes.uploads.begin({ owner: 'ann', target }), owner: 'ann', target };
    for (const rows of [2, 5]) {
      assert.equal(await writes.uploads.addPart(upload, async () => toStream(toItems(rows)), APPEND), rows);
    }
    assert.equal(await fixture.version(), 1);
    const complete = async () =>
      writes.uploads.complete(upload, {
        request: fixture.request('complete_upload', { digest: 'd' }),
        table: await fixture.table(),
        branch: undefined,
        recordedAs: 'insert_into_table',
        toFields: ({ rows }) => ({ num_inserted_rows: rows }),
      });
    const [first, second] = [await complete(), await complete()];
    assert.deepEqual(first, second);
    assert.ok(first.kind === 'committed');
    assert.deepEqual(first.fields, { num_inserted_rows: 7 });
    assert.equal((await readRows(t, fixture.state())).length, 10);
    assert.deepEqual(await readdir(join(fixture.folder, 'uploads', String(process.pid))), []);
  });
});
