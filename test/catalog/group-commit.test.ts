import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { TestContext } from 'node:test';
import Database from 'libsql';
import { GroupCommit } from '../../src/catalog/group-commit.ts';
import type { GroupOptions } from '../../src/catalog/group-commit.ts';
import { migrate } from '../../src/catalog/schema/migrations.ts';
import { openSqliteStore } from '../../src/catalog/sqlite/sqlite-store.ts';
import type { Sql } from '../../src/catalog/store.ts';
import {
  NOW,
  ENTRY,
  createTable,
  recordCommit,
  refusal,
  temporaryCatalog,
  temporaryFile,
} from './temporary-catalog.ts';

const MANY = Array.from({ length: 150 }, (_, index) => index);

suite('commits that come at once', () => {
  test('share transactions and syncs, and are recorded in the order in which they came', async (context) => {
    const { catalog, database } = await temporaryCatalog(context);
    const tables = [
      await createTable(catalog, database.id, ['orders']),
      await createTable(catalog, database.id, ['items']),
    ];
    const before = catalog.counts();
    const records = await Promise.all(
      MANY.map(async (version) => recordCommit(catalog, tables[version % 2] ?? assert.fail(), { ...ENTRY, version })),
    );
    const after = catalog.counts();
    assert.equal(after.transactions - before.transactions, 3);
    assert.equal(after.syncs - before.syncs, 3);
    const ids = records.map(({ transactionId }) => transactionId);
    assert.deepEqual(ids, ids.toSorted());
    assert.equal(new Set(ids).size, MANY.length);
    for (const version of [0, 1, 63, 64, 149]) {
      const found = await catalog.transactions.find(ids[version] ?? '');
      assert.deepEqual([found?.version, found?.tableId], [version, tables[version % 2]?.id]);
    }
  });

  test('each see the properties of those before them, and none of those after', async (context) => {
    const { catalog, database } = await temporaryCatalog(context);
    const table = await createTable(catalog, database.id, ['orders'], { first: '0' });
    const records = await Promise.all([
      recordCommit(catalog, table),
      recordCommit(catalog, table, { ...ENTRY, properties: { a: '1', last: 'a' } }),
      recordCommit(catalog, table),
      recordCommit(catalog, table, { ...ENTRY, properties: { b: '2', last: 'b' } }),
    ]);
    assert.deepEqual(
      records.map(({ properties }) => properties),
      [
        { first: '0' },
        { first: '0', a: '1', last: 'a' },
        { first: '0', a: '1', last: 'a' },
        { first: '0', a: '1', last: 'b', b: '2' },
      ],
    );
    assert.deepEqual((await catalog.tables.find(database.id, ['orders']))?.properties, records[3]?.properties);
  });

  test('are refused alone when they are faulty', async (context) => {
    const { catalog, database } = await temporaryCatalog(context);
    const table = await createTable(catalog, database.id, ['orders']);
    const outcomes = await Promise.allSettled([
      recordCommit(catalog, table, { ...ENTRY, version: 2 }),
      recordCommit(catalog, table, { ...ENTRY, version: 3, requestId: 'a\u0000b' }),
      recordCommit(catalog, table, { ...ENTRY, version: 4 }),
    ]);
    assert.deepEqual(
      outcomes.map((outcome) => (outcome.status === 'rejected' ? outcome.reason.kind : 'recorded')),
      ['recorded', 'InvalidInput', 'recorded'],
    );
    const feed = await catalog.transactions.list({ databaseId: database.id, limit: 10 });
    assert.deepEqual(
      feed.map(({ version }) => version),
      [1, 2, 4],
    );
  });
});

/** On a real catalog file; `transactions` has the options of each that was tried. */
async function openGroup(context: TestContext, busyTimeoutMilliseconds = 30_000) {
  const file = await temporaryFile(context);
  const store = await openSqliteStore({ file, busyTimeoutMilliseconds });
  context.after(async () => store.close());
  await migrate(store, NOW);
  const transactions: GroupOptions[] = [];
  const group = new GroupCommit(async (work, options) => {
    transactions.push(options);
    return store.transact(work, options);
  });
  const put = async (name: string, options: Partial<GroupOptions> = {}): Promise<string> =>
    group.run({
      run: async (sql: Sql) => {
        await sql.insertInto('settings').values({ name, value: '' }).execute();
        return name;
      },
      changesLookups: false,
      isDurable: false,
      ...options,
    });
  return { file, store, put, transactions };
}

suite('a group', () => {
  test('is refused at once, not one by one, while the catalog is unavailable', async (context) => {
    const { file, put, transactions } = await openGroup(context, 50);
    const holder = new Database(file);
    context.after(() => holder.close());
    holder.exec('begin immediate');
    const names = Array.from({ length: 60 }, (_, index) => `name ${index}`);
    const outcomes = await Promise.allSettled(names.map(async (name) => put(name)));
    for (const outcome of outcomes) {
      assert.equal(outcome.status, 'rejected');
      assert.ok(refusal('ServiceUnavailable')(outcome.reason));
    }
    assert.equal(transactions.length, 1);
    holder.exec('rollback');
    assert.deepEqual(await Promise.all(names.map(async (name) => put(name))), names);
    assert.equal(transactions.length, 2);
  });

  test('with a faulty member is run again without it', async (context) => {
    const { put, store } = await openGroup(context);
    await put('taken');
    const outcomes = await Promise.allSettled(['a', 'taken', 'b'].map(async (name) => put(name)));
    assert.deepEqual(
      outcomes.map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled'],
    );
    const rows = await store.read(async (sql) => sql.selectFrom('settings').select('name').execute());
    const names = rows.map(({ name }) => name);
    for (const name of ['a', 'b']) assert.ok(names.includes(name), name);
  });

  test('is as durable as the most careful of its members, and looked up again for any', async (context) => {
    const { put, store, transactions } = await openGroup(context);
    const before = store.syncCount();
    await Promise.all([put('a'), put('b')]);
    assert.equal(store.syncCount(), before);
    await Promise.all([put('c'), put('d', { isDurable: true }), put('e', { changesLookups: true })]);
    assert.equal(store.syncCount(), before + 1);
    assert.deepEqual(transactions, [
      { changesLookups: false, isDurable: false, isOneStatement: false },
      { changesLookups: true, isDurable: true, isOneStatement: false },
    ]);
  });

  test('of one statement is no transaction of several, unless others share it', async (context) => {
    const { put, transactions } = await openGroup(context);
    await put('a', { isOneStatement: true });
    await Promise.all([put('b', { isOneStatement: true }), put('c', { isOneStatement: true })]);
    assert.deepEqual(
      transactions.map(({ isOneStatement }) => isOneStatement),
      [true, false],
    );
  });

  test('takes what comes while another one runs into the next', async (context) => {
    const { put, transactions } = await openGroup(context);
    const running = put('first');
    await new Promise(setImmediate);
    await Promise.all([running, ...['a', 'b', 'c'].map(async (name) => put(name))]);
    assert.equal(transactions.length, 2);
  });
});
