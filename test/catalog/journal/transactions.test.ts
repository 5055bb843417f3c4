import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openCatalog } from '../../../src/catalog/catalog.ts';
import { ENTRY, createTable, open, recordCommit, temporaryCatalog } from '../temporary-catalog.ts';

test('a transaction that is not there is not found', async (context) => {
  const { catalog } = await temporaryCatalog(context);
  assert.equal(await catalog.transactions.find('none'), undefined);
});

test('the feed has every write of its database, page by page, in the order of commits', async (context) => {
  const { file, catalog, database } = await temporaryCatalog(context);
  const other = await open(context, file);
  const elsewhere = await catalog.databases.create({ name: 'elsewhere', root: '/elsewhere' });
  const table = await createTable(catalog, database.id, ['orders']);
  await createTable(catalog, elsewhere.id, ['orders']);
  const ids = [];
  // All at one moment: the clock stands still.
  for (let version = 2; version < 20; version += 1) {
    const writer = version % 3 === 0 ? other : catalog;
    ids.push((await recordCommit(writer, table, { ...ENTRY, version })).transactionId);
  }
  const seen = [];
  for (let after = ''; ;) {
    const page = await catalog.transactions.list({ databaseId: database.id, after, limit: 4 });
    const last = page.at(-1);
    if (last === undefined) break;
    seen.push(...page);
    after = last.id;
  }
  assert.deepEqual(
    seen.map(({ id }) => id),
    [seen[0]?.id, ...ids],
  );
  assert.deepEqual(
    seen.map(({ version }) => version),
    Array.from({ length: 19 }, (_, index) => index + 1),
  );
});

test('the feed stays in order when the clock goes back', async (context) => {
  const { file, catalog, database } = await temporaryCatalog(context);
  const table = await createTable(catalog, database.id, ['orders']);
  const past = await openCatalog({
    address: file,
    storageRoot: '/roots',
    waitMilliseconds: 30_000,
    connectionsMax: 2,
    journal: { windowSeconds: 60, keySeconds: 86_400, keysMax: 1000 },
    cacheBytes: 1_000_000,
    now: () => 1000,
  });
  context.after(async () => past.close());
  const { transactionId } = await recordCommit(past, table, { ...ENTRY, version: 2 });
  const feed = await catalog.transactions.list({ databaseId: database.id, limit: 10 });
  assert.deepEqual(
    feed.map(({ version }) => version),
    [1, 2],
  );
  assert.equal(feed[1]?.id, transactionId);
  assert.equal(feed[1]?.committedAt, 1000);
});

test('a write of the main branch names no branch', async (context) => {
  const { catalog, database } = await temporaryCatalog(context);
  await createTable(catalog, database.id, ['orders']);
  const [record] = await catalog.transactions.list({ databaseId: database.id, limit: 1 });
  assert.ok(record);
  assert.equal('branch' in record, false);
});
