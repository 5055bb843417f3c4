import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import Database from 'libsql';
import { keepReserve } from '../../../src/catalog/sqlite/connections.ts';
import { openSqliteStore } from '../../../src/catalog/sqlite/sqlite-store.ts';
import { fillDisk, mountSmallDisk } from '../../support/small-disk.ts';

/** As every connection leaves it that is closed in order: without the files of the write-ahead log. */
function createCatalogFile(file: string): void {
  const database = new Database(file);
  database.exec('pragma journal_mode = wal');
  database.exec('create table settings (name text, value text)');
  database.close();
}

test('a catalog is opened on a full disk by giving up its reserve', async (t) => {
  const folder = await mountSmallDisk(t, 2 * 1024 ** 2);
  if (folder === undefined) return t.skip('no permission to mount a disk');
  const file = join(folder, 'catalog.db');
  createCatalogFile(file);
  keepReserve(file);
  await fillDisk(folder);
  assert.deepEqual((await readdir(folder)).toSorted(), ['ballast', 'catalog.db', 'catalog.db-reserve']);
  const store = await openSqliteStore({ file, busyTimeoutMilliseconds: 1000 });
  t.after(async () => store.close());
  const rows = await store.read(async (sql) => sql.selectFrom('settings').selectAll().execute());
  assert.deepEqual(rows, []);
});

test('without a reserve it is refused', async (t) => {
  const folder = await mountSmallDisk(t, 2 * 1024 ** 2);
  if (folder === undefined) return t.skip('no permission to mount a disk');
  const file = join(folder, 'catalog.db');
  createCatalogFile(file);
  await fillDisk(folder);
  await assert.rejects(openSqliteStore({ file, busyTimeoutMilliseconds: 1000 }), { kind: 'ServiceUnavailable' });
});
