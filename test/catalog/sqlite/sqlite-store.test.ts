import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { readdir, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import Database from 'libsql';
import { migrate } from '../../../src/catalog/schema/migrations.ts';
import { makeFolder } from '../../support/temporary-folder.ts';
import { openSqliteStore } from '../../../src/catalog/sqlite/sqlite-store.ts';
import type { CatalogStore } from '../../../src/catalog/store.ts';
import { CHILD, NOW, nextMessage, open, refusal, temporaryCatalog, temporaryFile } from '../temporary-catalog.ts';

async function openStore(
  context: TestContext,
  file: string,
  busyTimeoutMilliseconds = 30_000,
): Promise<Awaited<ReturnType<typeof openSqliteStore>>> {
  const store = await openSqliteStore({ file, busyTimeoutMilliseconds });
  context.after(async () => store.close());
  await migrate(store, NOW);
  return store;
}

/** Holds the lock for writing, as another process would. */
function lock(context: TestContext, file: string): Database.Database {
  const holder = new Database(file);
  context.after(() => holder.close());
  holder.exec('begin immediate');
  return holder;
}

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) {
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
}

test('all files of the catalog are for their owner alone', async (context) => {
  const { file } = await temporaryCatalog(context);
  const names = await readdir(dirname(file));
  assert.deepEqual(names.toSorted(), ['catalog.db', 'catalog.db-reserve', 'catalog.db-shm', 'catalog.db-wal']);
  for (const name of names) {
    const { mode } = await stat(join(dirname(file), name));
    assert.equal(mode & 0o777, 0o600, name);
  }
});

test('opening keeps the mode of an existing file', async (context) => {
  const file = await temporaryFile(context);
  await writeFile(file, '', { mode: 0o640 });
  await openStore(context, file);
  assert.equal((await stat(file)).mode & 0o777, 0o640);
});

test('refuses a folder that is missing, without naming it', async (context) => {
  const file = join(dirname(await temporaryFile(context)), 'none', 'catalog.db');
  await assert.rejects(open(context, file), (error) => {
    assert.ok(refusal('ServiceUnavailable', /^The catalog is not available at the moment\.$/)(error));
    return true;
  });
});

test('refuses a folder instead of the file', async (context) => {
  const folder = await makeFolder(context);
  await assert.rejects(open(context, folder), refusal('ServiceUnavailable'));
});

test('refuses a file that is no database, and leaves it as it was', async (context) => {
  const file = await temporaryFile(context);
  await writeFile(file, 'not a database '.repeat(1000));
  await assert.rejects(open(context, file), refusal('Internal', /^The catalog failed to process the request\.$/));
  assert.equal((await stat(file)).size, 15_000);
});

test('transactions do not interleave', async (context) => {
  const store = await openStore(context, await temporaryFile(context));
  await store.transact(async (sql) => sql.insertInto('settings').values({ name: 'count', value: '0' }).execute());
  const count = async (): Promise<unknown> =>
    store.transact(async (sql) => {
      const query = sql.selectFrom('settings').select('value').where('name', '=', 'count');
      const { value } = await query.executeTakeFirstOrThrow();
      await turns(2);
      return sql
        .updateTable('settings')
        .set({ value: String(Number(value) + 1) })
        .where('name', '=', 'count')
        .execute();
    });
  await Promise.all(Array.from({ length: 20 }, count));
  assert.equal(await readSetting(store, 'count'), '20');
});

test('readers see nothing of a transaction before its commit', async (context) => {
  const store = await openStore(context, await temporaryFile(context));
  await store.transact(async (sql) => {
    await sql.insertInto('settings').values({ name: 'new', value: '1' }).execute();
    assert.equal(await readSetting(store, 'new'), undefined);
  });
  assert.equal(await readSetting(store, 'new'), '1');
});

test('nothing of a transaction that fails is kept, and the next one works', async (context) => {
  const store = await openStore(context, await temporaryFile(context));
  const failing = store.transact(async (sql) => {
    await sql.insertInto('settings').values({ name: 'new', value: '1' }).execute();
    throw new Error('on purpose');
  });
  await assert.rejects(failing, /on purpose/);
  assert.equal(await readSetting(store, 'new'), undefined);
  await store.transact(async (sql) => sql.insertInto('settings').values({ name: 'new', value: '2' }).execute());
  assert.equal(await readSetting(store, 'new'), '2');
});

test('a reader cannot write outside of a transaction', async (context) => {
  const store = await openStore(context, await temporaryFile(context));
  const writing = store.read(async (sql) => sql.insertInto('settings').values({ name: 'new', value: '1' }).execute());
  await assert.rejects(writing, refusal('ServiceUnavailable'));
});

test('a row whose parent was deleted meanwhile is a conflict', async (context) => {
  const store = await openStore(context, await temporaryFile(context));
  const row = { id: 'n', databaseId: 'none', parentId: null, path: 'a', properties: '{}', createdAt: NOW };
  const writing = store.transact(async (sql) => sql.insertInto('namespaces').values(row).execute());
  await assert.rejects(writing, refusal('ConcurrentModification'));
});

test('another constraint that does not hold is an error of ours', async (context) => {
  const store = await openStore(context, await temporaryFile(context));
  const row = { name: 'new', value: '1' };
  const writing = store.transact(async (sql) => sql.insertInto('settings').values([row, row]).execute());
  await assert.rejects(writing, refusal('Internal'));
});

for (const isOneStatement of [false, true]) {
  const kind = isOneStatement ? 'a transaction of one statement' : 'a write';
  const write = async (store: CatalogStore): Promise<unknown> =>
    store.transact(async (sql) => sql.insertInto('settings').values({ name: 'new', value: '1' }).execute(), {
      isDurable: true,
      isOneStatement,
    });

  test(`${kind} waits for the lock of another process and leaves the event loop free`, async (context) => {
    const file = await temporaryFile(context);
    const store = await openStore(context, file);
    const holder = lock(context, file);
    let isDone = false;
    const writing = write(store).then(() => (isDone = true));
    await turns(200);
    assert.equal(isDone, false);
    assert.equal(await readSetting(store, 'new'), undefined);
    holder.exec('rollback');
    await writing;
    assert.equal(await readSetting(store, 'new'), '1');
  });

  test(`${kind} is refused when the lock stays, and works once it is gone`, async (context) => {
    const file = await temporaryFile(context);
    const store = await openStore(context, file, 20);
    const holder = lock(context, file);
    await assert.rejects(write(store), refusal('ServiceUnavailable'));
    holder.exec('rollback');
    await write(store);
  });
}

test('a statement that fails leaves nothing of its rows, and no transaction open', async (context) => {
  const store = await openStore(context, await temporaryFile(context));
  const row = { name: 'new', value: '1' };
  const writing = store.transact(async (sql) => sql.insertInto('settings').values([row, row]).execute(), {
    isDurable: true,
    isOneStatement: true,
  });
  await assert.rejects(writing, refusal('Internal'));
  assert.equal(await readSetting(store, 'new'), undefined);
  await store.transact(async (sql) => sql.insertInto('settings').values(row).execute());
  assert.equal(await readSetting(store, 'new'), '1');
});

test('the change counter changes with commits of others only, inside of a transaction too', async (context) => {
  const file = await temporaryFile(context);
  const store = await openStore(context, file);
  const other = new Database(file);
  context.after(() => other.close());
  const before = await store.readChangeCounter();
  assert.equal(await store.readChangeCounter(), before);
  await store.transact(async (sql) => {
    await sql.insertInto('settings').values({ name: 'a', value: '1' }).execute();
    assert.equal(await store.readChangeCounter(), before);
  });
  assert.equal(await store.readChangeCounter(), before);
  other.exec("insert into settings values ('b', '1')");
  const after = await store.readChangeCounter();
  assert.notEqual(after, before);
  await store.transact(async (sql) => {
    await sql.insertInto('settings').values({ name: 'c', value: '1' }).execute();
    assert.equal(await store.readChangeCounter(), after);
  });
  assert.equal(await store.readChangeCounter(), after);
});

test('the change counter shows a commit of another process that a transaction of ours followed', async (context) => {
  const file = await temporaryFile(context);
  const store = await openStore(context, file);
  const other = new Database(file);
  context.after(() => other.close());
  const before = await store.readChangeCounter();
  other.exec("insert into settings values ('b', '1')");
  await store.transact(async (sql) => sql.insertInto('settings').values({ name: 'c', value: '1' }).execute());
  assert.notEqual(await store.readChangeCounter(), before);
});

test('reading the change counter keeps no lock', async (context) => {
  const file = await temporaryFile(context);
  const store = await openStore(context, file);
  await store.readChangeCounter();
  const other = new Database(file);
  context.after(() => other.close());
  other.exec("insert into settings values ('b', '1')");
  const [state] = other.prepare('pragma wal_checkpoint(truncate)').raw().all();
  assert.deepEqual(state, [0, 0, 0]);
  await store.transact(async (sql) => sql.insertInto('settings').values({ name: 'c', value: '1' }).execute());
});

const UNKEEPABLE = ['a\u0000b', '\u0000', 'a\ud800', '\udc00b'];

for (const text of UNKEEPABLE) {
  test(`refuses the text ${JSON.stringify(text)}, which would not come back as it was`, async (context) => {
    const store = await openStore(context, await temporaryFile(context));
    const writing = store.transact(async (sql) =>
      sql.insertInto('settings').values({ name: 'x', value: text }).execute(),
    );
    await assert.rejects(writing, refusal('InvalidInput'));
    await assert.rejects(readSetting(store, text), refusal('InvalidInput'));
  });
}

test('refuses values that would end the process', async (context) => {
  const store = await openStore(context, await temporaryFile(context));
  for (const value of [true, { a: 1 }, undefined, Symbol('x')]) {
    // @ts-expect-error -- the types refuse it too
    await assert.rejects(readSetting(store, value), TypeError);
  }
});

test('many different statements do not pile up', async (context) => {
  const store = await openStore(context, await temporaryFile(context));
  for (let count = 1; count <= 450; count += 1) {
    const names = Array.from({ length: count }, (_, index) => `name ${index}`);
    const rows = await store.read(async (sql) =>
      sql.selectFrom('settings').select('name').where('name', 'in', names).execute(),
    );
    assert.deepEqual(rows, []);
  }
});

test('closing lets running work finish and refuses what comes later', async (context) => {
  const file = await temporaryFile(context);
  const store = await openStore(context, file);
  const writing = store.transact(async (sql) => {
    await turns(5);
    await sql.insertInto('settings').values({ name: 'last', value: '1' }).execute();
  });
  await turns(1);
  const closing = store.close();
  await assert.rejects(readSetting(store, 'last'), refusal('ServiceUnavailable'));
  await assert.rejects(store.readChangeCounter(), refusal('ServiceUnavailable'));
  await writing;
  await closing;
  await store.close();
  assert.equal(await readSetting(await openStore(context, file), 'last'), '1');
});

test('a second opening in one process does not undo the locks of the first', async (context) => {
  const file = await temporaryFile(context);
  const store = await openStore(context, file);
  await openStore(context, file);
  // The last connection to close removes the log; without our locks this process would take itself for the last.
  const script = "const d = new (require('libsql'))(process.argv[1]); d.exec('create table x (y)'); d.close();";
  const { status } = spawnSync(process.execPath, ['-e', script, file], { stdio: 'inherit' });
  assert.equal(status, 0);
  await store.transact(async (sql) => sql.insertInto('settings').values({ name: 'x', value: '1' }).execute());
  assert.ok((await readdir(dirname(file))).includes('catalog.db-wal'));
  assert.equal(await readSetting(await openStore(context, file), 'x'), '1');
});

test('a full disk refuses writes, not reads, and keeps everything that was acknowledged', async (context) => {
  const { file } = await temporaryCatalog(context);
  // The limit of a file's size in blocks of 1024 bytes stands for a full disk: writing past it fails the same way.
  const script = 'ulimit -f 600 && exec "$0" "$1" fill "$2"';
  const child = spawn('bash', ['-c', script, process.execPath, CHILD, file], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  context.after(() => child.kill('SIGKILL'));
  const message = await nextMessage(child);
  assert.ok(typeof message === 'object' && message !== null && 'last' in message);
  assert.deepEqual(message, { last: message.last, refused: 'ServiceUnavailable', isReadable: true });
  const catalog = await open(context, file);
  assert.ok(await catalog.databases.find(String(message.last)));
  await catalog.databases.create({ name: 'after', root: '/data' });
});

async function readSetting(store: CatalogStore, name: string): Promise<string | undefined> {
  const row = await store.read(async (sql) =>
    sql.selectFrom('settings').select('value').where('name', '=', name).executeTakeFirst(),
  );
  return row?.value;
}

test('the change counter shows every commit of another process at once, also after the log began anew', async (context) => {
  const file = await temporaryFile(context);
  const store = await openStore(context, file);
  const script = `
    const database = new (require('libsql'))(process.argv[1]);
    require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
      database.exec(line);
      process.stdout.write('done');
    });`;
  const child = spawn(process.execPath, ['-e', script, file], { stdio: ['pipe', 'pipe', 'inherit'] });
  context.after(() => child.kill('SIGKILL'));
  const answers = child.stdout[Symbol.asyncIterator]();
  const tell = async (statement: string): Promise<void> => {
    child.stdin.write(`${statement}\n`);
    await answers.next();
  };
  for (let round = 0; round < 200; round += 1) {
    const before = await store.readChangeCounter();
    await tell(`insert into settings values ('n${round}', '${round % 50 === 0 ? 'x'.repeat(100_000) : ''}')`);
    const after = await store.readChangeCounter();
    assert.notEqual(after, before);
    assert.notEqual(await readSetting(store, `n${round}`), undefined);
    await store.transact(async (sql) =>
      sql
        .deleteFrom('settings')
        .where('name', '=', `n${round - 1}`)
        .execute(),
    );
    assert.equal(await store.readChangeCounter(), after);
    if (round % 20 === 0) await tell('pragma wal_checkpoint(restart)');
  }
});
