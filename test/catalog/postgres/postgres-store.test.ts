import assert from 'node:assert/strict';
import { before, suite, test } from 'node:test';
import type { TestContext } from 'node:test';
import pg from 'pg';
import { openPostgresStore } from '../../../src/catalog/postgres/postgres-store.ts';
import { migrate } from '../../../src/catalog/schema/migrations.ts';
import type { CatalogStore, Sql } from '../../../src/catalog/store.ts';
import { eventually } from '../../support/eventually.ts';
import { startPostgres, withoutPostgres } from '../../support/postgres.ts';
import type { TestPostgres } from '../../support/postgres.ts';
import { NOW, refusal } from '../temporary-catalog.ts';

const IN_DOUBT = refusal('ServiceUnavailable', /^It is not known whether the change was made\.$/);

suite('the catalog in PostgreSQL', { skip: withoutPostgres }, () => {
  let postgres: TestPostgres;
  before(async () => {
    postgres = await startPostgres();
  });

  async function openStore(context: TestContext, url: string, waitMilliseconds = 30_000): Promise<CatalogStore> {
    const store = await openPostgresStore({ url, connectionsMax: 4, waitMilliseconds });
    context.after(async () => store.close());
    await migrate(store, NOW);
    return store;
  }

  for (const isolation of ['read committed', 'repeatable read']) {
    test(`transactions of several processes do not interleave, by default ${isolation}`, async (context) => {
      const url = await postgres.createDatabase();
      const database = pg.escapeIdentifier(new URL(url).pathname.slice(1));
      await postgres.query(`alter database ${database} set default_transaction_isolation = '${isolation}'`);
      const stores = await Promise.all([1, 2, 3].map(async () => openStore(context, url)));
      await stores[0]?.transact(async (sql) => writeCount(sql, 0));
      const counts = stores.flatMap((store) => Array.from({ length: 10 }, async () => store.transact(count)));
      await Promise.all(counts);
      assert.equal(await stores[0]?.read(readCount), 30);
    });
  }

  test('a transaction that fails changes nothing, and the next one succeeds', async (context) => {
    const store = await openStore(context, await postgres.createDatabase());
    await store.transact(async (sql) => writeCount(sql, 1));
    const failing = store.transact(async (sql) => {
      await count(sql);
      throw new Error('no');
    });
    await assert.rejects(failing, /^Error: no$/);
    await store.transact(count);
    assert.equal(await store.read(readCount), 2);
  });

  test('work waits for a server that restarts, and succeeds or says that it may have', async (context) => {
    const store = await openStore(context, await postgres.createDatabase());
    await store.transact(async (sql) => writeCount(sql, 1));
    const restarted = postgres.restart();
    const [read, changed] = await Promise.allSettled([store.read(readCount), store.transact(count)]);
    await restarted;
    assert.ok(read.status === 'fulfilled' && [1, 2].includes(read.value));
    const isInDoubt = changed.status === 'rejected' && IN_DOUBT(changed.reason);
    assert.ok(changed.status === 'fulfilled' || isInDoubt);
    const after = await store.read(readCount);
    assert.ok(after === 2 || (isInDoubt && after === 1), `${after}`);
  });

  test('a process that pauses inside of a transaction does not keep others waiting, and its change is undone', async (context) => {
    const url = await postgres.createDatabase();
    const store = await openStore(context, url);
    await store.transact(async (sql) => writeCount(sql, 0));
    const paused = await openStore(context, url, 100);
    let isPaused = false;
    let resume = (): void => {};
    const outcome = paused
      .transact(async (sql) => {
        await count(sql);
        if (isPaused) return;
        isPaused = true;
        await new Promise<void>((resolve) => {
          resume = resolve;
        });
      })
      .catch((error: unknown) => error);
    await eventually(async () => isPaused);
    await store.transact(count);
    assert.equal(await store.read(readCount), 1);
    resume();
    await outcome;
    const after = await store.read(readCount);
    assert.ok(after === 1 || after === 2, `${after}`);
  });

  for (const [where, last] of [
    ['before a statement', count],
    ['before its commit', async () => {}],
  ] as const) {
    test(`a transaction that pauses for too long ${where} is repeated as a whole, and is made once`, async (context) => {
      const url = await postgres.createDatabase();
      const store = await openStore(context, url);
      await store.transact(async (sql) => writeCount(sql, 0));
      let attempts = 0;
      await store.transact(async (sql) => {
        attempts += 1;
        await count(sql);
        if (attempts === 1) await pauseUntilEnded(url);
        await last(sql);
      });
      assert.deepEqual([attempts, await store.read(readCount)], [2, last === count ? 2 : 1]);
    });
  }

  test('a connection that breaks during the commit leaves the change in doubt, and says so', async (context) => {
    const url = await postgres.createDatabase();
    const store = await openStore(context, url);
    await store.transact(async (sql) => writeCount(sql, 0));
    // A deferred trigger runs inside of the commit: there the session is ended.
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    await client.query(`create function cut() returns trigger language plpgsql as $$
      begin perform pg_terminate_backend(pg_backend_pid()); perform pg_sleep(10); return null; end $$`);
    await client.query(`create constraint trigger cut after update on settings deferrable initially deferred
      for each row execute function cut()`);
    await assert.rejects(store.transact(count), IN_DOUBT);
    await client.query('drop trigger cut on settings');
    await client.end();
    await store.transact(count);
    assert.equal(await store.read(readCount), 1);
  });

  test('says which server it cannot use and why, without the password', async () => {
    const settings = { connectionsMax: 1, waitMilliseconds: 200 };
    const open = async (login: string, port: number, database: string): Promise<unknown> =>
      openPostgresStore({ ...settings, url: `postgres://${login}:password-of-it@127.0.0.1:${port}/${database}` });
    const at = (port: number, database: string, problem: string): ReturnType<typeof refusal> => {
      const message = `The PostgreSQL server 127.0.0.1:${port}, with the catalog database ${database}, ${problem}.`;
      return refusal('ServiceUnavailable', new RegExp(`^${message.replaceAll('.', String.raw`\.`)}$`));
    };
    await assert.rejects(open('postgres', 1, 'none'), at(1, 'none', 'cannot be reached'));
    const { port } = postgres;
    await assert.rejects(open('stranger', port, 'postgres'), at(port, 'postgres', 'does not accept the user'));
    await assert.rejects(open('postgres', port, 'none'), at(port, 'none', 'has no such database'));
  });

  test('refuses text that it could not keep', async (context) => {
    const store = await openStore(context, await postgres.createDatabase());
    for (const text of ['a\u0000b', '\ud800']) {
      const stored = store.transact(async (sql) =>
        sql.insertInto('settings').values({ name: text, value: '' }).execute(),
      );
      await assert.rejects(stored, refusal('InvalidInput'));
      const found = store.read(async (sql) =>
        sql.selectFrom('settings').selectAll().where('name', '=', text).execute(),
      );
      await assert.rejects(found, refusal('InvalidInput'));
    }
  });

  test('text is ordered byte by byte', async (context) => {
    const store = await openStore(context, await postgres.createDatabase());
    const names = ['B', 'a', 'Z', '_', 'é', 'b', '😀', '\uffee'];
    await store.transact(async (sql) =>
      sql
        .insertInto('settings')
        .values(names.map((name) => ({ name, value: 'x' })))
        .execute(),
    );
    const rows = await store.read(async (sql) =>
      sql.selectFrom('settings').select('name').where('value', '=', 'x').orderBy('name').execute(),
    );
    const expected = names.toSorted((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other)));
    assert.deepEqual(
      rows.map(({ name }) => name),
      expected,
    );
  });
});

async function writeCount(sql: Sql, value: number): Promise<void> {
  await sql
    .insertInto('settings')
    .values({ name: 'count', value: String(value) })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ value: String(value) }))
    .execute();
}

async function readCount(sql: Sql): Promise<number> {
  const row = await sql.selectFrom('settings').select('value').where('name', '=', 'count').executeTakeFirstOrThrow();
  return Number(row.value);
}

async function count(sql: Sql): Promise<void> {
  await writeCount(sql, (await readCount(sql)) + 1);
}

/** Until PostgreSQL has ended the transaction that pauses, and its connection. */
async function pauseUntilEnded(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const isOpen = "select 1 from pg_stat_activity where datname = current_database() and state = 'idle in transaction'";
  await eventually(async () => (await client.query(isOpen)).rows.length === 0);
  await client.end();
}
