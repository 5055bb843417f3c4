import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { TestContext } from 'node:test';
import { openCatalog } from '../../../src/catalog/catalog.ts';
import type { BeginOptions, Catalog, NewCommit, NewEntry } from '../../../src/catalog/catalog.ts';
import type { TableRecord } from '../../../src/model/table.ts';
import {
  ENTRY,
  createTable,
  open,
  recordCommit,
  refusal,
  temporaryCatalog,
  temporaryFile,
} from '../temporary-catalog.ts';

const LIMITS = { windowSeconds: 60, keySeconds: 600, keysMax: 3 };
const OPTIONS: BeginOptions = { bounds: [], removes: [], isDurable: true };

async function openJournal(t: TestContext) {
  const file = await temporaryFile(t);
  const clock = { now: 1_000_000 };
  const reopen = async (): Promise<Catalog> => {
    const catalog = await openCatalog({
      address: file,
      storageRoot: '/nowhere',
      waitMilliseconds: 1000,
      connectionsMax: 2,
      cacheBytes: 1_000_000,
      journal: LIMITS,
      now: () => clock.now,
    });
    t.after(async () => catalog.close());
    return catalog;
  };
  const catalog = await reopen();
  const { id: databaseId } = await catalog.databases.create({ name: 'default', root: '/nowhere' });
  const table = await createTable(catalog, databaseId, ['items']);
  const entry = (id: string, changes: Partial<NewEntry> = {}): NewEntry => ({
    id,
    caller: 'key:1',
    digest: 'digest',
    key: undefined,
    operation: 'update_table',
    databaseId,
    tableId: table.id,
    path: table.path,
    branch: undefined,
    baseVersion: 1,
    epoch: 0,
    requestId: 'r',
    generation: 'g1',
    expected: '{"kinds":["update"]}',
    holdsReaders: false,
    ...changes,
  });
  return { clock, reopen, catalog, journal: catalog.journal, databaseId, table, entry };
}

function toCommit(table: TableRecord, { id, epoch, holdsReaders }: NewEntry, version = 2): NewCommit {
  const commit = { ...ENTRY, operation: 'update_table', version };
  return { table, commit, epoch, entry: { id, outcome: '{"rows":1}' }, releasesReaders: holdsReaders };
}

function idsOf(entries: readonly { readonly id: string }[]): readonly string[] {
  return entries.map(({ id }) => id);
}

suite('an entry', () => {
  test('is pending from its begin until it is recorded, for every process', async (t) => {
    const { clock, reopen, journal, table, entry } = await openJournal(t);
    const begun = entry('a', { key: 'k', branch: 'trial', generation: undefined });
    await journal.begin([begun], OPTIONS);
    const { holdsReaders: _, ...kept } = begun;
    const unknown = { boundVersion: undefined, version: undefined, transactionId: undefined, outcome: undefined };
    const pending = { ...kept, ...unknown, state: 'pending', since: clock.now };
    const later = (await reopen()).journal;
    assert.deepEqual(await later.pending(), [pending]);
    clock.now += 3_600_000;
    const [recorded] = await later.record([toCommit(table, begun)], true);
    assert.deepEqual(await journal.pending(), []);
    const { transactionId } = recorded ?? assert.fail();
    const committed = {
      ...pending,
      state: 'committed',
      since: clock.now,
      version: 2,
      transactionId,
      outcome: '{"rows":1}',
    };
    assert.deepEqual(await journal.find('a'), committed);
  });

  test('begins with those of its batch or not at all', async (t) => {
    const { journal, entry } = await openJournal(t);
    await journal.begin([entry('a')], OPTIONS);
    await assert.rejects(journal.begin([entry('b'), entry('a')], OPTIONS));
    assert.deepEqual(idsOf(await journal.pending()), ['a']);
  });

  test('removes those that are over with the transaction of the next begin', async (t) => {
    const { catalog, journal, entry } = await openJournal(t);
    await journal.begin([entry('a'), entry('b')], OPTIONS);
    const before = catalog.counts().transactions;
    await journal.begin([entry('c')], { ...OPTIONS, removes: ['a', 'never begun'] });
    assert.equal(catalog.counts().transactions, before + 1);
    assert.deepEqual(idsOf(await journal.pending()), ['b', 'c']);
  });

  test('is removed, also among more than a statement takes', async (t) => {
    const { journal, entry } = await openJournal(t);
    const many = Array.from({ length: 2500 }, (_, index) => entry(`${index}`));
    for (let at = 0; at < many.length; at += 500) await journal.begin(many.slice(at, at + 500), OPTIONS);
    await journal.remove(idsOf(many.slice(1)));
    assert.deepEqual(idsOf(await journal.pending()), ['0']);
  });

  test('that is in doubt is bounded once, by the first write after it', async (t) => {
    const { journal, entry } = await openJournal(t);
    await journal.begin([entry('a'), entry('b')], OPTIONS);
    await journal.begin([entry('c', { baseVersion: 2 })], { ...OPTIONS, bounds: [{ ids: ['a'], version: 2 }] });
    await journal.begin([entry('d', { baseVersion: 3 })], { ...OPTIONS, bounds: [{ ids: ['a', 'b'], version: 3 }] });
    const bounds = (await journal.pending()).map(({ id, boundVersion }) => [id, boundVersion]);
    assert.deepEqual(bounds, [
      ['a', 2],
      ['b', 3],
      ['c', undefined],
      ['d', undefined],
    ]);
  });

  test('without a key is distinguished from those with one once it is committed', async (t) => {
    const { journal, table, entry } = await openJournal(t);
    const entries = [entry('a'), entry('b', { key: 'k' }), entry('c'), entry('pending')];
    await journal.begin(entries, OPTIONS);
    await journal.record(
      entries.slice(0, 3).map((each) => toCommit(table, each)),
      true,
    );
    assert.deepEqual(idsOf(await journal.keyless()), ['a', 'c']);
  });

  test('belongs to the response marks that it was renewed with', async (t) => {
    const { journal, entry } = await openJournal(t);
    await journal.begin([entry('a'), entry('b'), entry('c')], OPTIONS);
    await journal.renew(['a'], 'g2');
    await journal.renew(['b'], undefined);
    const generations = (await journal.pending()).map(({ generation }) => generation);
    assert.deepEqual(generations, ['g2', undefined, 'g1']);
  });
});

suite('a key', () => {
  test('finds its entry, for its caller alone', async (t) => {
    const { journal, entry } = await openJournal(t);
    await journal.begin([entry('a', { key: 'k' }), entry('b')], OPTIONS);
    assert.equal((await journal.findByKey('key:1', 'k'))?.id, 'a');
    assert.equal(await journal.findByKey('key:2', 'k'), undefined);
    assert.equal(await journal.findByKey('key:1', 'other'), undefined);
  });

  test('is kept for its time after the commit, and for as long as its write is pending', async (t) => {
    const { clock, journal, table, entry } = await openJournal(t);
    const [a, b] = [entry('a', { key: 'a' }), entry('b', { key: 'b' })];
    await journal.begin([a, b], OPTIONS);
    clock.now += 3_600_000;
    await journal.record([toCommit(table, a)], true);
    clock.now += 600_000;
    assert.equal((await journal.findByKey('key:1', 'a'))?.state, 'committed');
    clock.now += 1;
    assert.equal(await journal.findByKey('key:1', 'a'), undefined);
    assert.equal((await journal.findByKey('key:1', 'b'))?.state, 'pending');
  });

  test('finds the newest of several entries', async (t) => {
    const { clock, journal, table, entry } = await openJournal(t);
    const first = entry('first', { key: 'k' });
    await journal.begin([first], OPTIONS);
    await journal.record([toCommit(table, first)], true);
    clock.now += 1000;
    await journal.begin([entry('second', { key: 'k' })], OPTIONS);
    assert.equal((await journal.findByKey('key:1', 'k'))?.id, 'second');
  });

  test('of a request that is one catalog transaction is kept by that transaction', async (t) => {
    const { catalog, journal, databaseId } = await openJournal(t);
    const table = { databaseId, path: ['made'] as const, root: '/nowhere', caller: 'key:1' };
    const reservation = await catalog.tables.reserve(table);
    const completes = { id: 'c', key: 'k', digest: 'd', generation: undefined, outcome: '{"rows":3}' };
    const { transactionId } = await catalog.tables.publish(reservation, {
      ...ENTRY,
      caller: 'key:1',
      properties: {},
      completes,
    });
    const found = await journal.findByKey('key:1', 'k');
    assert.deepEqual(
      [found?.state, found?.digest, found?.version, found?.outcome, found?.transactionId],
      ['committed', 'd', ENTRY.version, '{"rows":3}', transactionId],
    );
  });
});

suite('prune', () => {
  test('removes keys past their time, then the oldest above the bound, and nothing that is pending or keyless', async (t) => {
    const { clock, journal, table, entry } = await openJournal(t);
    const keyed = [0, 1, 2, 3, 4].map((each) => entry(`k${each}`, { key: `${each}` }));
    await journal.begin([...keyed, entry('keyless'), entry('pending', { key: 'p' })], OPTIONS);
    await journal.record([toCommit(table, entry('keyless'))], true);
    for (const each of keyed) {
      await journal.record([toCommit(table, each)], true);
      clock.now += each.id === 'k0' ? 601_000 : 1000;
    }
    await journal.prune();
    const kept = [];
    for (const { id } of [...keyed, entry('keyless'), entry('pending')]) {
      if ((await journal.find(id)) !== undefined) kept.push(id);
    }
    assert.deepEqual(kept, ['k2', 'k3', 'k4', 'keyless', 'pending']);
  });
});

suite('a write of several commits', () => {
  test('hides them from readers until it is recorded', async (t) => {
    const { catalog, journal, databaseId, table, entry } = await openJournal(t);
    const begun = entry('a', { baseVersion: 7, holdsReaders: true });
    await journal.begin([begun], OPTIONS);
    assert.equal((await catalog.tables.find(databaseId, table.path))?.heldVersion, 7);
    const [recorded] = await journal.record([toCommit(table, begun, 9)], true);
    assert.equal(typeof recorded?.transactionId, 'string');
    assert.deepEqual(await catalog.tables.find(databaseId, table.path), table);
  });

  test('that was undone leaves no entry, no hold and no record, however late its commit comes', async (t) => {
    const { catalog, journal, databaseId, table, entry } = await openJournal(t);
    const begun = entry('a', { holdsReaders: true });
    await journal.begin([begun], OPTIONS);
    await journal.abortHeld('a', table.id, undefined);
    assert.equal(await journal.find('a'), undefined);
    assert.deepEqual(await catalog.tables.find(databaseId, table.path), table);
    assert.deepEqual(await journal.record([toCommit(table, begun)], true), [undefined]);
    assert.equal((await catalog.transactions.list({ databaseId, limit: 10 })).length, 1);
  });

  test('that was recorded keeps its entry, however late it is to be undone', async (t) => {
    const { journal, table, entry } = await openJournal(t);
    const begun = entry('a', { holdsReaders: true });
    await journal.begin([begun], OPTIONS);
    await journal.record([toCommit(table, begun)], true);
    await journal.abortHeld('a', table.id, undefined);
    assert.equal((await journal.find('a'))?.state, 'committed');
  });

  test('is refused beside another one, and leaves no entry', async (t) => {
    const { journal, entry } = await openJournal(t);
    await journal.begin([entry('a', { holdsReaders: true })], OPTIONS);
    const other = entry('b', { baseVersion: 2, holdsReaders: true });
    await assert.rejects(journal.begin([other], OPTIONS), refusal('ConcurrentModification'));
    assert.deepEqual(idsOf(await journal.pending()), ['a']);
  });
});

suite('a commit', () => {
  test('is recorded, with the properties that the table has', async (t) => {
    const { catalog, database } = await temporaryCatalog(t);
    const table = await createTable(catalog, database.id, ['orders'], { a: '1' });
    const commit = { operation: 'update_table', caller: 'key:k', version: 7, branch: 'b', requestId: 'r' };
    const { transactionId, properties } = await recordCommit(catalog, table, commit);
    assert.deepEqual(properties, { a: '1' });
    const record = await catalog.transactions.find(transactionId);
    assert.equal(record?.version, 7);
    assert.equal(record?.branch, 'b');
    assert.equal(record?.tableId, table.id);
  });

  test('merges its properties into those of the table', async (t) => {
    const { catalog, database } = await temporaryCatalog(t);
    const table = await createTable(catalog, database.id, ['orders'], { a: '1', b: '2' });
    const merged = { a: '1', b: '3', ['__proto__']: 'x' };
    const { properties } = await recordCommit(catalog, table, { ...ENTRY, properties: { b: '3', ['__proto__']: 'x' } });
    assert.deepEqual(Object.entries(properties), Object.entries(merged));
    const found = await catalog.tables.find(database.id, ['orders']);
    assert.deepEqual(Object.entries(found?.properties ?? {}), Object.entries(merged));
  });

  test('keeps the properties of all when many come at once', async (t) => {
    const { file, catalog, database } = await temporaryCatalog(t);
    const other = await open(t, file);
    const table = await createTable(catalog, database.id, ['orders']);
    const commits = Array.from({ length: 20 }, async (_, index) =>
      recordCommit(index % 2 === 0 ? catalog : other, table, { ...ENTRY, properties: { [`key${index}`]: 'x' } }),
    );
    await Promise.all(commits);
    const found = await catalog.tables.find(database.id, ['orders']);
    assert.equal(Object.keys(found?.properties ?? {}).length, 20);
  });

  test('of a table that is gone is not recorded, those beside it are', async (t) => {
    const { catalog, journal, databaseId, table, entry } = await openJournal(t);
    const gone = await createTable(catalog, databaseId, ['gone']);
    const entries = [entry('a'), entry('b', { tableId: gone.id }), entry('c')];
    await journal.begin(entries, OPTIONS);
    await catalog.tables.drop(gone, ENTRY);
    const recorded = await journal.record(
      entries.map((each) => toCommit({ ...table, id: each.tableId }, each)),
      true,
    );
    assert.deepEqual(
      recorded.map((each) => each !== undefined),
      [true, false, true],
    );
    assert.equal((await catalog.transactions.list({ databaseId, limit: 10 })).length, 5);
  });

  test('is not begun at a table that is gone', async (t) => {
    const { catalog, journal, table, entry } = await openJournal(t);
    await catalog.tables.deregister(table, ENTRY);
    await assert.rejects(journal.begin([entry('a')], OPTIONS), refusal('TableNotFound'));
    assert.deepEqual(await journal.pending(), []);
  });
});
