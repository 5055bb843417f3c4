import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FoundTable } from '../../../src/catalog/catalog.ts';
import { createTable, hasNamespace, temporaryCatalog } from '../temporary-catalog.ts';

const FOUND: readonly FoundTable[] = [
  { path: ['plain'], location: { kind: 'listed', root: '/data', directory: 'plain' } },
  {
    path: ['a', 'b', 'deep'],
    location: {
      kind: 'namespaced',
      root: '/data',
      enginePath: ['a', 'b', 'de"ep\u0000'],
      directory: '1f_a$b$deep',
    },
  },
  {
    path: ['a', 'other'],
    location: { kind: 'namespaced', root: '/data', enginePath: ['a', 'other'], directory: '2e_a$other' },
  },
];

test('adopted tables are published with their locations, and their namespaces are created', async (context) => {
  const { catalog, database } = await temporaryCatalog(context);
  assert.equal(await catalog.tables.adopt(database.id, FOUND), 3);
  for (const { path, location } of FOUND) {
    const table = await catalog.tables.find(database.id, path);
    assert.deepEqual(table?.location, location);
    assert.deepEqual(table?.properties, {});
  }
  assert.equal(await hasNamespace(catalog, database.id, ['a']), true);
  assert.equal(await hasNamespace(catalog, database.id, ['a', 'b']), true);
  assert.equal(await hasNamespace(catalog, database.id, ['plain']), false);
});

test('adopting again changes nothing', async (context) => {
  const { catalog, database } = await temporaryCatalog(context);
  await catalog.tables.adopt(database.id, FOUND);
  const tables = await catalog.tables.list({ databaseId: database.id, limit: 10 });
  assert.equal(await catalog.tables.adopt(database.id, FOUND), 0);
  assert.equal(await catalog.tables.adopt(database.id, [...FOUND, ...FOUND]), 0);
  assert.deepEqual(await catalog.tables.list({ databaseId: database.id, limit: 10 }), tables);
});

test('a directory of a table or of a reservation is not adopted under another name', async (context) => {
  const { catalog, database } = await temporaryCatalog(context);
  const { location } = await createTable(catalog, database.id, ['orders']);
  const table = { databaseId: database.id, path: ['unfinished'] as const, root: '/data', caller: 'key:k' };
  const reservation = await catalog.tables.reserve(table);
  const found = [location, reservation.location].map((each) => ({
    path: ['n', each.directory] as const,
    location: each,
  }));
  assert.equal(await catalog.tables.adopt(database.id, found), 0);
  assert.equal(await hasNamespace(catalog, database.id, ['n']), false);
});

test('one directory is one table, whichever way it was found', async (context) => {
  const { catalog, database } = await temporaryCatalog(context);
  const listed = { kind: 'listed', root: '/data', directory: 'x' } as const;
  const found: readonly FoundTable[] = [
    { path: ['x'], location: listed },
    { path: ['y'], location: { kind: 'namespaced', root: '/data/', enginePath: ['y'], directory: 'x.lance' } },
  ];
  assert.equal(await catalog.tables.adopt(database.id, found), 1);
  assert.deepEqual((await catalog.tables.find(database.id, ['x']))?.location, listed);
});

test('a path that is taken keeps its table', async (context) => {
  const { catalog, database } = await temporaryCatalog(context);
  const table = await createTable(catalog, database.id, ['plain']);
  assert.equal(await catalog.tables.adopt(database.id, FOUND), 2);
  assert.deepEqual(await catalog.tables.find(database.id, ['plain']), table);
});

test('nothing found is nothing adopted', async (context) => {
  const { catalog, database } = await temporaryCatalog(context);
  assert.equal(await catalog.tables.adopt(database.id, []), 0);
});

test('more tables than fit one transaction are all adopted, also by two at once', async (context) => {
  const { catalog, database } = await temporaryCatalog(context);
  const found = Array.from({ length: 350 }, (_, index): FoundTable => ({
    path: [`n${index % 7}`, `t${index}`],
    location: { kind: 'listed', root: '/data', directory: `t${index}` },
  }));
  const counts = await Promise.all([1, 2].map(async () => catalog.tables.adopt(database.id, found)));
  assert.equal(
    counts.reduce((sum, count) => sum + count),
    350,
  );
  assert.equal((await catalog.tables.list({ databaseId: database.id, limit: 1000 })).length, 350);
});
