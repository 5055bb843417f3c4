import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import type { Catalog } from '../../../src/catalog/catalog.ts';
import type { NamespacePath, TablePath } from '../../../src/model/identifier.ts';
import { ODD_NAMES, namePaths, names } from '../names.ts';
import { createTable, holdVersion, refusal, temporaryCatalog } from '../temporary-catalog.ts';

let runs = 0;

async function newDatabase(catalog: Catalog): Promise<string> {
  runs += 1;
  const { id } = await catalog.databases.create({ name: `run ${runs}`, root: `/run-${runs}` });
  return id;
}

async function adopt(catalog: Catalog, databaseId: string, paths: readonly TablePath[]): Promise<void> {
  const found = paths.map((path, index) => ({
    path,
    location: { kind: 'listed', root: `/${databaseId}`, directory: `t${index}` } as const,
  }));
  assert.equal(await catalog.tables.adopt(databaseId, found), paths.length);
}

async function listAll(
  catalog: Catalog,
  page: { databaseId: string; under?: NamespacePath; limit: number },
): Promise<TablePath[]> {
  const all: TablePath[] = [];
  for (;;) {
    const after = all.at(-1);
    const tables = await catalog.tables.list({ ...page, ...(after === undefined ? {} : { after }) });
    if (tables.length === 0) return all;
    assert.ok(tables.length <= page.limit);
    all.push(...tables.map(({ path }) => path));
  }
}

function comparePaths(one: TablePath, other: TablePath): number {
  const at = one.findIndex((name, index) => name !== other[index]);
  if (at === -1) return one.length - other.length;
  const against = other[at];
  return against === undefined ? 1 : Buffer.compare(Buffer.from(one[at] ?? ''), Buffer.from(against));
}

const distinctPaths = fc.uniqueArray(namePaths, { maxLength: 25, selector: (path) => JSON.stringify(path) });

test('pages of every size together are all tables in order', async (context) => {
  const { catalog } = await temporaryCatalog(context);
  const property = fc.asyncProperty(distinctPaths, fc.integer({ min: 1, max: 30 }), async (paths, limit) => {
    const databaseId = await newDatabase(catalog);
    await adopt(catalog, databaseId, paths);
    assert.deepEqual(await listAll(catalog, { databaseId, limit }), paths.toSorted(comparePaths));
  });
  await fc.assert(property, { numRuns: 60 });
});

async function listViews(catalog: Catalog, databaseId?: string): Promise<readonly (readonly string[])[]> {
  const pages: string[][] = [];
  let next: string | undefined = '';
  while (next !== undefined) {
    const page: Awaited<ReturnType<Catalog['tables']['listWithProperty']>> = await catalog.tables.listWithProperty(
      'tiltyard.view',
      { databaseId, after: next },
    );
    pages.push(page.tables.map(({ path }) => path.join()));
    next = page.next;
  }
  return pages;
}

test('the tables with a property are listed without others that have similar ones', async (context) => {
  const { catalog, database } = await temporaryCatalog(context);
  const create = async (name: string, key: string) => createTable(catalog, database.id, [name], { [key]: 'x' });
  for (let round = 0; round < 3; round++) {
    for (const key of ['x"tiltyard.view', 'Tiltyard.View', 'tiltyard.view.state']) await create(`${round}${key}`, key);
    await create(`view${round}`, 'tiltyard.view');
  }
  const other = await newDatabase(catalog);
  await createTable(catalog, other, ['other'], { 'tiltyard.view': 'x' });
  assert.deepEqual((await listViews(catalog)).flat().toSorted(), ['other', 'view0', 'view1', 'view2']);
  assert.deepEqual((await listViews(catalog, other)).flat(), ['other']);
});

test('a page of the tables with a property reads few properties when they are large, and many when they are not', async (context) => {
  const { catalog, database } = await temporaryCatalog(context);
  const create = async (name: string, properties: Record<string, string>): Promise<void> =>
    void (await createTable(catalog, database.id, [name], properties));
  for (const name of ['a', 'b', 'c', 'd']) await create(name, { 'tiltyard.view': 'x', note: 'é'.repeat(1_500_000) });
  await create('plain', { note: 'x'.repeat(3_000_000) });
  const pages = await listViews(catalog);
  assert.deepEqual(pages.flat().toSorted(), ['a', 'b', 'c', 'd']);
  assert.ok(pages.every((page) => page.length <= 1));
  const other = await newDatabase(catalog);
  for (let at = 0; at < 20; at += 1) await createTable(catalog, other, [`${at}`], { 'tiltyard.view': 'x' });
  assert.deepEqual(
    (await listViews(catalog, other)).map(({ length }) => length),
    [20],
  );
});

test('a listing has what it takes to find a table, and no properties, which can be large', async (context) => {
  const { catalog, database } = await temporaryCatalog(context);
  const { location, id } = await createTable(catalog, database.id, ['items'], { note: 'x'.repeat(1000) });
  const entry = { id, databaseId: database.id, path: ['items'], location, heldVersion: undefined };
  assert.deepEqual(await catalog.tables.list({ databaseId: database.id, limit: 2 }), [entry]);
  const unmeasured = { unmeasuredOnly: true, limit: 2 };
  assert.deepEqual(await catalog.sizes.list(`database:${database.id}`, unmeasured), [entry]);
});

test('a listing under a path has the tables at the path and below it, in order, and no others', async (context) => {
  const { catalog } = await temporaryCatalog(context);
  const property = fc.asyncProperty(distinctPaths, namePaths, fc.nat(), async (paths, other, pick) => {
    const databaseId = await newDatabase(catalog);
    await adopt(catalog, databaseId, paths);
    const chosen = paths[pick % Math.max(paths.length, 1)];
    const under = chosen === undefined || chosen.length === 1 ? other : chosen.slice(0, -1);
    const below = paths.filter((path) => under.every((name, index) => name === path[index]));
    assert.deepEqual(await listAll(catalog, { databaseId, under, limit: 3 }), below.toSorted(comparePaths));
  });
  await fc.assert(property, { numRuns: 40 });
});

test('names that begin like a namespace are not below it', async (context) => {
  const { catalog, database } = await temporaryCatalog(context);
  await adopt(catalog, database.id, [['a'], ['a '], ['a', 'b'], ['a!'], ['ab'], ['a', ' ']]);
  const below = await listAll(catalog, { databaseId: database.id, under: ['a'], limit: 10 });
  assert.deepEqual(below, [['a'], ['a', ' '], ['a', 'b']]);
});

test('a page may start after a table that is gone or never was', async (context) => {
  const { catalog, database } = await temporaryCatalog(context);
  await adopt(catalog, database.id, [['a'], ['c']]);
  const page = await catalog.tables.list({ databaseId: database.id, after: ['b', 'x'], limit: 10 });
  assert.deepEqual(
    page.map(({ path }) => path),
    [['c']],
  );
});

test('a listing shows the tables of its own database only', async (context) => {
  const { catalog, database } = await temporaryCatalog(context);
  const other = await newDatabase(catalog);
  await adopt(catalog, database.id, [['mine']]);
  await adopt(catalog, other, [['theirs']]);
  assert.deepEqual(await listAll(catalog, { databaseId: database.id, limit: 10 }), [['mine']]);
});

test('names of every odd kind come back byte for byte and are tables of their own', async (context) => {
  const { catalog, database } = await temporaryCatalog(context);
  for (const name of ODD_NAMES) {
    assert.equal(await catalog.tables.find(database.id, [name]), undefined, name);
    await createTable(catalog, database.id, [name], { name });
  }
  for (const name of ODD_NAMES) {
    const table = await catalog.tables.find(database.id, [name]);
    assert.deepEqual(Buffer.from(table?.path[0] ?? ''), Buffer.from(name));
    assert.deepEqual(table?.properties, { name });
  }
  assert.equal((await catalog.tables.list({ databaseId: database.id, limit: 1000 })).length, ODD_NAMES.length);
});

test('any allowed name comes back byte for byte', async (context) => {
  const { catalog } = await temporaryCatalog(context);
  const property = fc.asyncProperty(names, async (name) => {
    const { id, path } = await createTable(catalog, await newDatabase(catalog), [name]);
    assert.ok(id);
    assert.deepEqual(Buffer.from(path[0]), Buffer.from(name));
  });
  await fc.assert(property, { numRuns: 50 });
});

test('any properties come back as they were', async (context) => {
  const { catalog } = await temporaryCatalog(context);
  const texts = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom('__proto__', 'constructor', '\ud800', '\u0000'),
  );
  const property = fc.asyncProperty(fc.dictionary(texts, texts), async (properties) => {
    const table = await createTable(catalog, await newDatabase(catalog), ['t'], properties);
    assert.deepEqual(new Map(Object.entries(table.properties)), new Map(Object.entries(properties)));
  });
  await fc.assert(property, { numRuns: 50 });
});

describe('a held version', () => {
  test('is seen until it is released', async (context) => {
    const { catalog, database } = await temporaryCatalog(context);
    const table = await createTable(catalog, database.id, ['orders']);
    await holdVersion(catalog, table.id, { version: 4 });
    const held = { ...table, heldVersion: 4 };
    assert.deepEqual(await catalog.tables.find(database.id, ['orders']), held);
    assert.deepEqual(await catalog.tables.unfinished(), { reservations: [], held: [held] });
    await catalog.tables.release(table.id);
    assert.deepEqual(await catalog.tables.find(database.id, ['orders']), table);
    assert.deepEqual(await catalog.tables.unfinished(), { reservations: [], held: [] });
  });

  test('is not replaced by another one', async (context) => {
    const { catalog, database } = await temporaryCatalog(context);
    const table = await createTable(catalog, database.id, ['orders']);
    await holdVersion(catalog, table.id, { version: 4 });
    await holdVersion(catalog, table.id, { version: 4 });
    await assert.rejects(holdVersion(catalog, table.id, { version: 5 }), refusal('ConcurrentModification'));
    assert.equal((await catalog.tables.find(database.id, ['orders']))?.heldVersion, 4);
  });

  test('may be that of a branch, which then stays the one', async (context) => {
    const { catalog, database } = await temporaryCatalog(context);
    const table = await createTable(catalog, database.id, ['orders']);
    await holdVersion(catalog, table.id, { version: 4, branch: 'trial' });
    const held = { ...table, heldVersion: 4, heldBranch: 'trial' };
    assert.deepEqual(await catalog.tables.find(database.id, ['orders']), held);
    await assert.rejects(holdVersion(catalog, table.id, { version: 4 }), refusal('ConcurrentModification'));
    await catalog.tables.release(table.id);
    assert.deepEqual(await catalog.tables.find(database.id, ['orders']), table);
  });

  test('is refused for a table that is not there or not published', async (context) => {
    const { catalog, database } = await temporaryCatalog(context);
    const table = { databaseId: database.id, path: ['orders'] as const, root: '/data', caller: 'key:k' };
    const { tableId } = await catalog.tables.reserve(table);
    await assert.rejects(holdVersion(catalog, tableId, { version: 1 }), refusal('TableNotFound'));
    await assert.rejects(holdVersion(catalog, 'none', { version: 1 }), refusal('TableNotFound'));
  });
});
