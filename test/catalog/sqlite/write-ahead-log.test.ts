import assert from 'node:assert/strict';
import { appendFile } from 'node:fs/promises';
import { suite, test } from 'node:test';
import type { TestContext } from 'node:test';
import Database from 'libsql';
import { migrate } from '../../../src/catalog/schema/migrations.ts';
import { openSqliteStore } from '../../../src/catalog/sqlite/sqlite-store.ts';
import type { CatalogStore } from '../../../src/catalog/store.ts';
import { LogIndex, WriteAheadLog } from '../../../src/catalog/sqlite/write-ahead-log.ts';
import { NOW, refusal, temporaryFile } from '../temporary-catalog.ts';

async function openStore(context: TestContext, file?: string): Promise<CatalogStore> {
  const settings = { file: file ?? (await temporaryFile(context)), busyTimeoutMilliseconds: 1000 };
  const store = await openSqliteStore(settings);
  context.after(async () => store.close());
  await migrate(store, NOW);
  return store;
}

async function put(store: CatalogStore, name: string, isDurable: boolean): Promise<void> {
  const work: Parameters<CatalogStore['transact']>[0] = async (sql) =>
    sql.insertInto('settings').values({ name, value: '' }).execute();
  await store.transact(work, { isDurable });
}

const CANNOT_EMPTY = async (): Promise<boolean> => false;

async function openLog(context: TestContext): Promise<WriteAheadLog> {
  const file = await temporaryFile(context);
  await appendFile(file, 'frames');
  const log = new WriteAheadLog(file, CANNOT_EMPTY);
  context.after(async () => log.close());
  return log;
}

suite('a transaction', () => {
  test('is synced before it resolves when it must be durable, and only then', async (context) => {
    const store = await openStore(context);
    const before = store.syncCount();
    await put(store, 'a', true);
    assert.equal(store.syncCount(), before + 1);
    await put(store, 'b', false);
    assert.equal(store.syncCount(), before + 1);
    await store.transact(async (sql) => sql.deleteFrom('settings').where('name', '=', 'a').execute());
    assert.equal(store.syncCount(), before + 2);
  });

  test('shares its sync with those that wait for one at the same time', async (context) => {
    const store = await openStore(context);
    const before = store.syncCount();
    const names = Array.from({ length: 30 }, (_, index) => `name ${index}`);
    await Promise.all(names.map(async (name) => put(store, name, true)));
    const syncs = store.syncCount() - before;
    assert.ok(syncs >= 1 && syncs < names.length, `${syncs} syncs`);
  });

  test('that is refused syncs nothing', async (context) => {
    const store = await openStore(context);
    await put(store, 'a', true);
    const before = store.syncCount();
    await assert.rejects(put(store, 'a', true));
    assert.equal(store.syncCount(), before);
  });
});

suite('the log', () => {
  test('syncs once for all that ask at the same time', async (context) => {
    const log = await openLog(context);
    await Promise.all(Array.from({ length: 10 }, async () => log.sync()));
    assert.equal(log.count, 1);
  });

  test('takes no sync that was running before for a commit that came later', async (context) => {
    const log = await openLog(context);
    const first = log.sync();
    await new Promise(setImmediate);
    await Promise.all([first, log.sync(), log.sync()]);
    assert.equal(log.count, 2);
  });

  test('that could not be opened can be synced later', async (context) => {
    const file = await temporaryFile(context);
    const log = new WriteAheadLog(file, CANNOT_EMPTY);
    context.after(async () => log.close());
    await assert.rejects(log.sync(), refusal('ServiceUnavailable'));
    await log.requireDurable();
    await appendFile(file, 'frames');
    await log.sync();
    assert.equal(log.count, 1);
  });

  test('that failed to sync is not trusted again before all of it is in the database file', async (context) => {
    let canEmpty = false;
    // It cannot be synced.
    const log = new WriteAheadLog('/dev/null', async () => canEmpty);
    context.after(async () => log.close());
    await assert.rejects(log.sync(), refusal('ServiceUnavailable'));
    await assert.rejects(log.requireDurable(), refusal('ServiceUnavailable'));
    await assert.rejects(log.sync(), refusal('ServiceUnavailable'));
    canEmpty = true;
    await log.requireDurable();
    await log.sync();
    assert.equal(log.count, 0);
  });
});

const notLinux = process.platform === 'linux' ? false : 'SQLite may lock its index elsewhere';

suite('the index of the log', { skip: notLinux }, () => {
  test('is unchanged after a commit of this process, and changed after one of another', async (context) => {
    const file = await temporaryFile(context);
    const [own, other] = [await openStore(context, file), await openStore(context, file)];
    const index = new LogIndex(file);
    assert.equal(index.isUnchanged(), false);
    await put(own, 'a', false);
    index.passOwnCommit();
    assert.equal(index.isUnchanged(), true);
    await put(other, 'b', false);
    assert.equal(index.isUnchanged(), false);
    assert.equal(index.isUnchanged(), true);
  });

  test('is changed when another process has committed before a commit of this one, or right after it', async (context) => {
    const file = await temporaryFile(context);
    const [own, other] = [await openStore(context, file), await openStore(context, file)];
    const index = new LogIndex(file);
    for (const [round, stores] of [[own, other] as const, [other, own] as const].entries()) {
      index.isUnchanged();
      for (const [turn, store] of stores.entries()) await put(store, `${round} ${turn}`, false);
      index.passOwnCommit();
      assert.equal(index.isUnchanged(), false);
    }
  });

  test('is unchanged after a commit of this process that began the log anew', async (context) => {
    const file = await temporaryFile(context);
    const own = await openStore(context, file);
    const index = new LogIndex(file);
    index.isUnchanged();
    const checkpointer = new Database(file);
    context.after(() => checkpointer.close());
    checkpointer.exec('pragma wal_checkpoint(restart)');
    index.isUnchanged();
    await put(own, 'a', false);
    index.passOwnCommit();
    assert.equal(index.isUnchanged(), true);
  });
});
