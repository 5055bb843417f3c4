import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TablePath } from '../../../src/model/identifier.ts';
import { ENTRY, createTable, findState, holdVersion, open, refusal, temporaryCatalog } from '../temporary-catalog.ts';

const NAMED = { ...ENTRY, version: 0 };

test('a dropped table is gone at once, for every process, and its data are noted as litter until they are removed', async (context) => {
  const { file, catalog, database } = await temporaryCatalog(context);
  const other = await open(context, file);
  const table = await createTable(catalog, database.id, ['orders']);
  assert.ok(await other.tables.find(database.id, ['orders']));

  const { removal, transactionId } = await catalog.tables.drop(table, { ...NAMED, operation: 'drop_table' });
  assert.equal(await other.tables.find(database.id, ['orders']), undefined);
  assert.equal(await findState(catalog, database.id, ['orders']), 'absent');
  assert.deepEqual(removal, { tableId: table.id, location: table.location });
  assert.deepEqual(await other.tables.removals(), [removal]);
  assert.equal((await catalog.transactions.find(transactionId))?.operation, 'drop_table');

  await catalog.tables.finishRemoval(removal);
  await catalog.tables.finishRemoval(removal);
  assert.deepEqual(await catalog.tables.removals(), []);
});

test('the name of a dropped table can be used again at once, with a new directory', async (context) => {
  const { catalog, database } = await temporaryCatalog(context);
  const first = await createTable(catalog, database.id, ['orders']);
  await catalog.tables.drop(first, NAMED);
  const second = await createTable(catalog, database.id, ['orders']);
  assert.notEqual(second.location.directory, first.location.directory);
});

test('a table is dropped once', async (context) => {
  const { catalog, database } = await temporaryCatalog(context);
  const table = await createTable(catalog, database.id, ['orders']);
  const drops = await Promise.allSettled(Array.from({ length: 5 }, async () => catalog.tables.drop(table, NAMED)));
  assert.equal(drops.filter(({ status }) => status === 'fulfilled').length, 1);
  for (const outcome of drops) if (outcome.status === 'rejected') assert.ok(refusal('TableNotFound')(outcome.reason));
});

test('a renamed table keeps its id, its location and its properties, and is found by its new name only', async (context) => {
  const { file, catalog, database } = await temporaryCatalog(context);
  const other = await open(context, file);
  await catalog.namespaces.create({ databaseId: database.id, path: ['sales'], properties: {} }, ENTRY);
  const table = await createTable(catalog, database.id, ['orders'], { a: 'b' });
  assert.ok(await other.tables.find(database.id, ['orders']));
  await catalog.tables.rename(table, ['sales', 'bills'], NAMED);
  assert.equal(await other.tables.find(database.id, ['orders']), undefined);
  assert.deepEqual(await other.tables.find(database.id, ['sales', 'bills']), { ...table, path: ['sales', 'bills'] });
  const inside = await catalog.tables.list({ databaseId: database.id, inside: ['sales'], limit: 10 });
  assert.deepEqual(
    inside.map(({ path }) => path),
    [['sales', 'bills']],
  );
});

test('refuses a new name that is taken, reserved, or in a namespace that is not there', async (context) => {
  const { catalog, database } = await temporaryCatalog(context);
  const table = await createTable(catalog, database.id, ['orders']);
  await createTable(catalog, database.id, ['taken']);
  await catalog.tables.reserve({ databaseId: database.id, path: ['reserved'], root: '/data', caller: 'key:k' });
  for (const path of [['taken'], ['reserved'], ['orders']] as TablePath[]) {
    await assert.rejects(catalog.tables.rename(table, path, NAMED), refusal('TableAlreadyExists'));
  }
  await assert.rejects(catalog.tables.rename(table, ['nowhere', 'x'], NAMED), refusal('NamespaceNotFound'));
  assert.deepEqual(await catalog.tables.find(database.id, ['orders']), table);
});

test('of many who rename one table, or many tables to one name, exactly one succeeds', async (context) => {
  const { catalog, database } = await temporaryCatalog(context);
  const one = await createTable(catalog, database.id, ['one']);
  const count = async (renames: readonly Promise<unknown>[]) =>
    (await Promise.allSettled(renames)).filter(({ status }) => status === 'fulfilled').length;
  const names = Array.from({ length: 8 }, (_, index) => `n${index}`);
  assert.equal(await count(names.map(async (name) => catalog.tables.rename(one, [name], NAMED))), 1);

  const many = await Promise.all(names.map(async (name) => createTable(catalog, database.id, [`m${name}`])));
  assert.equal(await count(many.map(async (table) => catalog.tables.rename(table, ['same'], NAMED))), 1);
});

test('the name before leads to the table for a while, until another table has it, and then never again', async (context) => {
  const { catalog, database } = await temporaryCatalog(context);
  const table = await createTable(catalog, database.id, ['orders']);
  await catalog.tables.rename(table, ['bills'], NAMED);
  const find = async (seconds: number) => catalog.tables.findRenamed(database.id, ['orders'], seconds);
  assert.deepEqual((await find(300))?.path, ['bills']);
  assert.equal(await find(0), undefined);

  const again = await createTable(catalog, database.id, ['orders']);
  assert.equal(await find(300), undefined);
  await catalog.tables.drop(again, NAMED);
  assert.equal(await find(300), undefined);
});

test('the name before leads nowhere once the table is dropped', async (context) => {
  const { catalog, database } = await temporaryCatalog(context);
  const table = await createTable(catalog, database.id, ['orders']);
  await catalog.tables.rename(table, ['bills'], NAMED);
  await catalog.tables.drop({ ...table, path: ['bills'] }, NAMED);
  assert.equal(await catalog.tables.findRenamed(database.id, ['orders'], 300), undefined);
});

test('data of a deregistered table are their owner’s: neither litter nor adopted, and can be registered again', async (context) => {
  const { catalog, database } = await temporaryCatalog(context);
  const location = { kind: 'listed', root: '/data', directory: 'mine' } as const;
  await catalog.tables.adopt(database.id, [{ path: ['mine'], location }]);
  const table = await catalog.tables.find(database.id, ['mine']);
  assert.ok(table);
  await catalog.tables.deregister(table, NAMED);

  assert.equal(await catalog.tables.find(database.id, ['mine']), undefined);
  assert.deepEqual(await catalog.tables.removals(), []);
  assert.equal(await catalog.tables.adopt(database.id, [{ path: ['mine'], location }]), 0);
  const owner = await catalog.tables.findOwner(database.id, '/data/mine.lance');
  assert.deepEqual(owner, { kind: 'released', path: ['mine'] });

  const registration = {
    databaseId: database.id,
    path: ['again'],
    location,
    properties: { a: 'b' },
    replaces: false,
  } as const;
  const { table: again } = await catalog.tables.register(registration, ENTRY);
  assert.deepEqual(await catalog.tables.find(database.id, ['again']), again);
  assert.deepEqual(await catalog.tables.findByLocation('/data/mine.lance'), again);
  assert.equal((await catalog.tables.findOwner(database.id, '/data/mine.lance'))?.kind, 'table');
});

test('a table is not deregistered while a write is pending: its result would be lost', async (context) => {
  const { catalog, database } = await temporaryCatalog(context);
  const table = await createTable(catalog, database.id, ['orders']);
  const location = { kind: 'listed', root: '/data', directory: 'other' } as const;
  const registration = { databaseId: database.id, path: ['orders'], location, properties: {}, replaces: true } as const;
  const { version: _, operation: _operation, ...entry } = ENTRY;
  const changes = { commits: [], declarations: [], deregistrations: [table], deletions: [] };
  const complete = () => ({ id: 'batch', digest: 'batch', key: undefined, generation: undefined, outcome: '{}' });
  const isHeld = refusal('ServiceUnavailable', /not finished/);
  await holdVersion(catalog, table.id, { version: 4 });
  await assert.rejects(catalog.tables.deregister(table, NAMED), isHeld);
  await assert.rejects(catalog.tables.register(registration, NAMED), isHeld);
  await assert.rejects(catalog.batches.record({ ...changes, databaseId: database.id, entry, complete }), isHeld);
  assert.equal((await catalog.tables.find(database.id, ['orders']))?.id, table.id);
  await catalog.tables.release(table.id);

  const request = { id: 'x', caller: 'key:k', digest: 'x', key: 'k', generation: undefined, requestId: 'r' };
  const write = { operation: 'insert_into_table', branch: undefined, baseVersion: 1, epoch: 0, expected: '{}' };
  const pending = { ...request, ...write, databaseId: database.id, tableId: table.id, path: table.path };
  await catalog.journal.begin([{ ...pending, holdsReaders: false }], { bounds: [], removes: [], isDurable: true });
  await assert.rejects(catalog.tables.deregister(table, NAMED), isHeld);
  await assert.rejects(catalog.tables.register(registration, NAMED), isHeld);
  await assert.rejects(catalog.batches.record({ ...changes, databaseId: database.id, entry, complete }), isHeld);
  await catalog.journal.record([{ table, commit: ENTRY, entry: { id: 'x', outcome: '{}' } }], true);
  await catalog.tables.deregister(table, NAMED);
  assert.equal(await findState(catalog, database.id, ['orders']), 'absent');
});

test('data that are being removed are not adopted', async (context) => {
  const { catalog, database } = await temporaryCatalog(context);
  const location = { kind: 'listed', root: '/data', directory: 'mine' } as const;
  await catalog.tables.adopt(database.id, [{ path: ['mine'], location }]);
  const table = await catalog.tables.find(database.id, ['mine']);
  assert.ok(table);
  await catalog.tables.drop(table, NAMED);
  assert.equal(await catalog.tables.adopt(database.id, [{ path: ['mine'], location }]), 0);
  assert.deepEqual(await catalog.tables.findOwner(database.id, '/data/mine.lance'), { kind: 'unfinished' });
  const registration = { databaseId: database.id, path: ['again'], location, properties: {}, replaces: false } as const;
  await assert.rejects(catalog.tables.register(registration, ENTRY), refusal('InvalidTableState'));
});

test('a location belongs to one table, and a name to one location, unless it is to be replaced', async (context) => {
  const { catalog, database } = await temporaryCatalog(context);
  const register = async (path: TablePath, directory: string, replaces = false) => {
    const location = { kind: 'listed', root: '/data', directory } as const;
    return catalog.tables.register({ databaseId: database.id, path, location, properties: {}, replaces }, ENTRY);
  };
  await register(['a'], 'one');
  await assert.rejects(register(['b'], 'one'), refusal('InvalidTableState'));
  await assert.rejects(register(['a'], 'two'), refusal('TableAlreadyExists'));
  const { table } = await register(['a'], 'two', true);
  assert.deepEqual(await catalog.tables.find(database.id, ['a']), table);
  assert.deepEqual(await catalog.tables.findOwner(database.id, '/data/one.lance'), { kind: 'released', path: ['a'] });
});

test('a declared table is visible, with a new location, and is ordinary once its data were found', async (context) => {
  const { catalog, database } = await temporaryCatalog(context);
  const declaration = { databaseId: database.id, path: ['orders'], root: '/data', properties: { a: 'b' } } as const;
  const { table } = await catalog.tables.declare(declaration, NAMED);
  assert.equal(table.isDeclared, true);
  assert.equal(table.location.directory, `orders-${table.id}`);
  assert.equal(await findState(catalog, database.id, ['orders']), 'declared');
  assert.deepEqual(await catalog.tables.find(database.id, ['orders']), table);
  const { properties: _properties, createdBy: _creator, ...listed } = table;
  assert.deepEqual(await catalog.tables.list({ databaseId: database.id, limit: 10 }), [listed]);
  await assert.rejects(catalog.tables.declare(declaration, NAMED), refusal('TableAlreadyExists'));
  await catalog.tables.promote(table.id);
  assert.equal(await findState(catalog, database.id, ['orders']), 'published');
});

test('of many who fill a declared table, exactly one succeeds, and every process finds it at the new location', async (context) => {
  const { file, catalog, database } = await temporaryCatalog(context);
  const other = await open(context, file);
  const declaration = { databaseId: database.id, path: ['orders'], root: '/data', properties: { a: 'b' } } as const;
  const { table } = await catalog.tables.declare(declaration, NAMED);
  assert.deepEqual(await other.tables.find(database.id, ['orders']), table);
  const fill = { databaseId: database.id, path: ['orders'], root: '/data', caller: 'key:k', fills: table.id } as const;
  const reservations = await Promise.all(Array.from({ length: 4 }, async () => catalog.tables.reserve(fill)));
  assert.equal((await catalog.tables.list({ databaseId: database.id, limit: 10 })).length, 1);

  const outcomes = await Promise.allSettled(
    reservations.map(async (reservation) => catalog.tables.publish(reservation, { ...ENTRY, properties: { c: 'd' } })),
  );
  const winners = reservations.filter((_, index) => outcomes[index]?.status === 'fulfilled');
  assert.equal(winners.length, 1);
  const found = await other.tables.find(database.id, ['orders']);
  assert.equal(found?.id, table.id);
  assert.deepEqual(found?.location, winners[0]?.location);
  assert.deepEqual(found?.properties, { a: 'b', c: 'd' });
  assert.equal((await catalog.tables.unfinished()).reservations.length, 3);
});
