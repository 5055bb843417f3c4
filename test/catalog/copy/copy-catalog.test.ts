import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { before, suite, test } from 'node:test';
import type { TestContext } from 'node:test';
import { sql as statement } from 'kysely';
import { copyCatalog } from '../../../src/app/copy-catalog.ts';
import type { CopyProgress } from '../../../src/app/copy-catalog.ts';
import { isPostgresAddress, openStore } from '../../../src/catalog/catalog.ts';
import { COPIED_TABLES, TABLES } from '../../../src/catalog/copy/copied-tables.ts';
import type { CatalogStore, Sql } from '../../../src/catalog/store.ts';
import { tryLockFile } from '../../../src/coordination/file-lock.ts';
import { formatCount } from '../../../src/plans/format-figure.ts';
import { startPostgres, withoutPostgres } from '../../support/postgres.ts';
import type { TestPostgres } from '../../support/postgres.ts';
import { runCli } from '../../support/run-cli.ts';
import { makeFolder } from '../../support/temporary-folder.ts';
import { open, refusal } from '../temporary-catalog.ts';
import { fillCatalog } from './filled-catalog.ts';

async function readStore<T>(address: string, work: (sql: Sql) => Promise<T>): Promise<T> {
  const store: CatalogStore = await openStore({ address, waitMilliseconds: 5000, connectionsMax: 1 });
  try {
    return await store.transact(work);
  } finally {
    await store.close();
  }
}

/** As the database itself names them. */
async function listTables(sql: Sql, address: string): Promise<readonly string[]> {
  const { rows } = isPostgresAddress(address)
    ? await statement<{ name: string }>`select tablename as name from pg_tables where schemaname = 'public'`.execute(
        sql,
      )
    : await statement<{ name: string }>`select name from sqlite_master where type = 'table'`.execute(sql);
  return rows.map(({ name }) => name).toSorted();
}

type Rows = Readonly<Record<string, readonly string[]>>;

/** All rows of all tables but those of the running servers, as sorted texts. */
async function dump(address: string): Promise<Rows> {
  return readStore(address, async (sql) => {
    const tables: Record<string, string[]> = {};
    for (const name of await listTables(sql, address)) {
      if (['settings', 'nodes', 'leases'].includes(name)) continue;
      const { rows } = await statement<Record<string, unknown>>`select * from ${statement.table(name)}`.execute(sql);
      tables[name] = rows.map((row) => JSON.stringify(Object.entries(row).toSorted())).toSorted();
    }
    return tables;
  });
}

async function readSetting(address: string, name: string): Promise<string | undefined> {
  const row = await readStore(address, async (sql) =>
    sql.selectFrom('settings').select('value').where('name', '=', name).executeTakeFirst(),
  );
  return row?.value;
}

async function fill(context: TestContext, address: string): Promise<Rows> {
  const catalog = await open(context, address);
  await fillCatalog(catalog);
  await catalog.close();
  const rows = await dump(address);
  for (const [table, list] of Object.entries(rows)) assert.ok(list.length > 0, `${table} is empty`);
  return rows;
}

/** Leases are not copied, so their epochs are not either. */
function withoutEpochs({ journal = [], ...rows }: Rows): Rows {
  return { ...rows, journal: journal.map((row) => row.replace(/\["epoch",\d+\]/, '["epoch",0]')) };
}

async function checkCopy(from: string, to: string, rows: Rows): Promise<void> {
  const progress: CopyProgress[] = [];
  const copied = await copyCatalog({ from, to, onProgress: (each) => progress.push(each) });
  assert.deepEqual(await dump(to), withoutEpochs(rows));
  assert.deepEqual(await dump(from), rows);
  const counts = progress.filter(({ isDone }) => isDone).map(({ table, rows: count }) => [table, count] as const);
  assert.deepEqual(counts, [...copied]);
  assert.equal(
    [...copied.values()].reduce((sum, count) => sum + count),
    Object.values(rows).flat().length,
  );
  assert.ok(progress.some(({ table, rows: count, isDone }) => table === 'transactions' && count > 0 && !isDone));
  assert.equal(await readSetting(to, 'migrations_applied'), await readSetting(from, 'migrations_applied'));
  const generation = await readSetting(to, 'generation');
  assert.ok(generation !== undefined && generation !== (await readSetting(from, 'generation')));
}

const quiet = { onProgress: () => {} };

test('copies every row of a file to a new file, also in a new folder', async (context) => {
  const folder = await makeFolder(context);
  const from = join(folder, 'from.db');
  const rows = await fill(context, from);
  await checkCopy(from, join(folder, 'new', 'to.db'), rows);
});

test('every table of the catalog is copied, or is said not to be', async (context) => {
  const file = join(await makeFolder(context), 'catalog.db');
  await (await open(context, file)).close();
  const found = await readStore(file, async (sql) => listTables(sql, file));
  const known = Object.keys(TABLES).map((name) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`));
  assert.deepEqual(known.toSorted(), found);
  assert.equal(
    COPIED_TABLES.length,
    Object.keys(TABLES).length - known.filter((name) => /^(settings|nodes|leases)$/.test(name)).length,
  );
});

test('refuses a target that has a catalog, and leaves it as it was', async (context) => {
  const folder = await makeFolder(context);
  const [from, to] = [join(folder, 'from.db'), join(folder, 'to.db')];
  await fill(context, from);
  const other = await open(context, to);
  await other.keys.create({ name: 'one', digest: 'ab', grants: [] });
  await other.close();
  const before = await readFile(to);
  await assert.rejects(
    copyCatalog({ from, to, ...quiet }),
    refusal('InvalidInput', /^The target already has a catalog/),
  );
  assert.deepEqual(await readFile(to), before);
});

test('copies into a catalog that has only been migrated', async (context) => {
  const folder = await makeFolder(context);
  const [from, to] = [join(folder, 'from.db'), join(folder, 'to.db')];
  const rows = await fill(context, from);
  await (await open(context, to)).close();
  await checkCopy(from, to, rows);
});

test('refuses a source that a server uses: in its data folder, above it, or elsewhere', async (context) => {
  const data = await makeFolder(context);
  const folder = join(data, 'catalog');
  await mkdir(folder);
  const [from, to] = [join(folder, 'from.db'), join(folder, 'to.db')];
  await fill(context, from);
  for (const lockFile of [join(folder, 'server.lock'), join(data, 'server.lock'), `${from}.lock`]) {
    const lock = tryLockFile(lockFile);
    const copy = copyCatalog({ from, to, ...quiet });
    await assert.rejects(copy, refusal('ServiceUnavailable', /from\.db is in use by a server\.$/));
    lock?.close();
    assert.equal(existsSync(to), false);
  }
  await copyCatalog({ from, to, ...quiet });
});

test('refuses a missing or damaged source, the same catalog twice, and creates nothing', async (context) => {
  const folder = await makeFolder(context);
  const [from, to, damaged] = [join(folder, 'from.db'), join(folder, 'to.db'), join(folder, 'damaged.db')];
  await assert.rejects(copyCatalog({ from, to, ...quiet }), refusal('InvalidInput', /from\.db has no catalog\.$/));
  await writeFile(damaged, 'this is no catalog '.repeat(100));
  await assert.rejects(
    copyCatalog({ from: damaged, to, ...quiet }),
    refusal('InvalidInput', /cannot be read or is not a catalog/),
  );
  await fill(context, from);
  await assert.rejects(
    copyCatalog({ from, to: damaged, ...quiet }),
    refusal('InvalidInput', /cannot be read or is not a catalog/),
  );
  const same = copyCatalog({ from, to: `${folder}/./from.db`, ...quiet });
  await assert.rejects(same, refusal('InvalidInput', /^Both catalogs are the same\.$/));
  assert.deepEqual([existsSync(to), existsSync(join(folder, 'from.db'))], [false, true]);
});

test('a copy that fails leaves the target empty', async (context) => {
  const folder = await makeFolder(context);
  const [from, to] = [join(folder, 'from.db'), join(folder, 'to.db')];
  await fill(context, from);
  const onProgress = ({ table }: CopyProgress): void => {
    if (table === 'transactions') throw new Error('stopped');
  };
  await assert.rejects(copyCatalog({ from, to, onProgress }), /^Error: stopped$/);
  assert.deepEqual(Object.values(await dump(to)).flat(), []);
});

test('the command shows rows per table and the sum, and refuses what is no catalog', async (context) => {
  const folder = await makeFolder(context);
  const [from, to] = [join(folder, 'from.db'), join(folder, 'to.db')];
  const total = Object.values(await fill(context, from)).flat().length;
  const { code, out, err } = await runCli(['catalog', 'copy', from, to]);
  assert.equal(code, 0);
  assert.match(err, /^databases {2}2 rows\nnamespaces {2}3 rows\n/);
  assert.equal(out, `Copied ${formatCount(total)} rows from ${from} to ${to}.\n`);
  const json = await runCli(['catalog', 'copy', from, join(folder, 'other.db'), '--json']);
  const counted = JSON.parse(json.out) as { rows: number; tables: Record<string, number> };
  assert.deepEqual([counted.rows, counted.tables['databases'], counted.tables['api_keys']], [total, 2, 3]);
  for (const wrong of [
    [],
    [from],
    [from, to, to],
    [from, 's3://bucket/x'],
    ['postgres://u:pass-word@h', to],
    [from, ''],
  ]) {
    const refused = await runCli(['catalog', 'copy', ...wrong]);
    assert.equal(refused.code, 2, wrong.join(' '));
    assert.doesNotMatch(refused.err, /pass-word/);
  }
});

suite('with PostgreSQL', { skip: withoutPostgres }, () => {
  let postgres: TestPostgres;
  before(async () => {
    postgres = await startPostgres();
  });

  test('copies every row from SQLite to PostgreSQL, to another database, and back', async (context) => {
    const folder = await makeFolder(context);
    const [from, back] = [join(folder, 'from.db'), join(folder, 'back.db')];
    const [one, other] = [await postgres.createDatabase(), await postgres.createDatabase()];
    const rows = await fill(context, from);
    await checkCopy(from, one, rows);
    await checkCopy(one, other, withoutEpochs(rows));
    await checkCopy(other, back, withoutEpochs(rows));
  });

  test('copies what PostgreSQL itself has written', async (context) => {
    const from = await postgres.createDatabase();
    const rows = await fill(context, from);
    await checkCopy(from, join(await makeFolder(context), 'to.db'), rows);
  });

  test('all tables of the database are known', async (context) => {
    const url = await postgres.createDatabase();
    await (await open(context, url)).close();
    assert.equal((await readStore(url, async (sql) => listTables(sql, url))).length, Object.keys(TABLES).length);
  });

  test('refuses a source that a live node serves, until its lease has passed', async (context) => {
    const [from, to] = [await postgres.createDatabase(), join(await makeFolder(context), 'to.db')];
    await fill(context, from);
    await readStore(from, async (sql) => {
      const later = Date.now() + 3_600_000;
      await statement`insert into nodes (id, instance, name, release, storage_root, started_at, alive_until, forwards)
        values ('a', 'folder', 'host-1', '1.0.0', 's3://tables', 1, ${later}, 0)`.execute(sql);
    });
    const copy = copyCatalog({ from, to, ...quiet });
    await assert.rejects(
      copy,
      refusal('ServiceUnavailable', /^The catalog in the PostgreSQL database \w+ is in use by the node host-1\.$/),
    );
    assert.equal(existsSync(to), false);
    await readStore(from, async (sql) => statement`update nodes set alive_until = 1`.execute(sql));
    await copyCatalog({ from, to, ...quiet });
  });

  test('the command takes an address from a file, and never shows it', async (context) => {
    const folder = await makeFolder(context);
    const from = join(folder, 'from.db');
    await fill(context, from);
    const url = (await postgres.createDatabase()).replace('postgres@', 'postgres:pass-word@');
    await writeFile(join(folder, 'url'), `${url}\n`);
    const copied = await runCli(['catalog', 'copy', from, `@${join(folder, 'url')}`]);
    assert.match(copied.out, / to the PostgreSQL database test_\d+\.\n$/);
    const again = await runCli(['catalog', 'copy', from, `@${join(folder, 'url')}`]);
    assert.deepEqual([copied.code, again.code], [0, 1]);
    const away = await runCli(['catalog', 'copy', from, 'postgres://u:pass-word@127.0.0.1:9/d']);
    assert.match(away.err, /^tiltyard: The PostgreSQL database d cannot be reached or read\./);
    for (const { out, err } of [copied, again, away]) assert.doesNotMatch(out + err, /pass-word|127\.0\.0\.1/);
  });
});
