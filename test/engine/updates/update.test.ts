import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import {
  FixedSizeList,
  Float32,
  Int32,
  List,
  Schema,
  Struct,
  Table,
  Uint64,
  Utf8,
  vectorFromArray,
} from 'apache-arrow';
import type { UpdateRequest } from '../../../src/engine/engine.ts';
import type { ErrorName } from '../../../src/errors/service-error.ts';
import { ServiceError } from '../../../src/errors/service-error.ts';
import type { FieldPath } from '../../../src/model/field-path.ts';
import { commitPlan, latest, openFixture, openTestEngine, openTable, readRows, sql } from '../test-engine.ts';
import type { Row } from '../test-engine.ts';
import { optional, required, toItems, toPeople, toTable, vectorType } from '../sample-tables.ts';

type Pair = readonly [path: FieldPath, expression: string];

function toRequest(pairs: readonly Pair[], predicate?: string): UpdateRequest {
  return {
    assignments: pairs.map(([path, expression]) => ({ path, expression: sql(expression) })),
    predicate: predicate === undefined ? undefined : sql(predicate),
  };
}

/** A table, and a way to update it and look at the rows. */
async function openUpdated(t: TestContext, table: Table) {
  const fixture = await openTable(t, table);
  const target = { location: fixture.location(), branch: undefined };
  return {
    ...fixture,
    target,
    update: async (pairs: readonly Pair[], predicate?: string) =>
      commitPlan(fixture.engine, target, fixture.engine.commits.update(target, toRequest(pairs, predicate))),
    rows: async () => readRows(t, fixture.table),
  };
}

function refused(kind: ErrorName, pattern: RegExp): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof ServiceError, String(error));
    assert.equal(error.kind, kind, error.detail);
    assert.match(error.detail, pattern);
    return true;
  };
}

test('updates the matching rows and returns their number and the version', async (t) => {
  const { update, rows } = await openUpdated(t, toItems(4));
  assert.deepEqual(await update([[['score'], 'score + id']], 'id >= 2'), { rowsUpdated: 2, version: 2 });
  const scores = (await rows()).toSorted(byId).map((row) => row['score']);
  assert.deepEqual(scores, [1, 1, 3, 4]);
});

test('updates every row without a predicate', async (t) => {
  const { update, rows } = await openUpdated(t, toItems(3));
  assert.equal((await update([[['name'], "'same'"]])).rowsUpdated, 3);
  assert.ok((await rows()).every((row) => row['name'] === 'same'));
});

test('reports no rows when nothing matches', async (t) => {
  const { update, engine, table } = await openUpdated(t, toItems(3));
  const { rowsUpdated, version } = await update([[['score'], '5']], 'id = 99');
  assert.equal(rowsUpdated, 0);
  assert.equal((await engine.describeTable(table)).version, version);
});

test('updates a field inside a struct and keeps its siblings', async (t) => {
  const { update, rows } = await openUpdated(t, toPeople(10));
  await update([[['person', 'age'], 'id * 10']], 'id = 3');
  const person = (await rows()).find((row) => row['id'] === 3)?.['person'];
  assert.deepEqual(person, { age: 30, 'nick.name': 'n3', home: { street: 's3', number: 3 } });
});

test('updates fields at several depths of one struct at once', async (t) => {
  const { update, rows } = await openUpdated(t, toPeople(10));
  await update(
    [
      [['person', 'home', 'street'], "concat('to ', person.home.street)"],
      [['person', 'nick.name'], "'nick'"],
      [['person', 'age'], 'person.age + 1'],
      [['note'], "'seen'"],
    ],
    'id = 3',
  );
  const row = (await rows()).find(({ id }) => id === 3);
  assert.deepEqual(row, {
    id: 3,
    note: 'seen',
    person: { age: 4, 'nick.name': 'nick', home: { street: 'to s3', number: 3 } },
  });
});

test('keeps null structs null, at every depth, when a field inside is updated', async (t) => {
  const { update, rows } = await openUpdated(t, toPeople(36));
  await update([[['person', 'home', 'street'], "'x'"]]);
  for (const row of await rows()) assertNulls(row);
});

for (const [title, pairs, predicate] of [
  ['another column of a row with a null struct', [[['note'], "'x'"]], 'id = 5'],
  ['another column of a row with a null struct inside', [[['note'], "'x'"]], 'id = 7'],
  ['a field inside of a null struct', [[['person', 'age'], '1']], 'id = 5'],
  ['a field inside of a null struct inside', [[['person', 'home', 'street'], "'x'"]], 'id = 7'],
  ['several rows with null structs', [[['note'], "'x'"]], 'id IN (0, 5, 10, 15)'],
] as const) {
  test(`keeps null structs null when an update touches ${title}`, async (t) => {
    const { update, rows } = await openUpdated(t, toPeople(36));
    assert.ok((await update(pairs, predicate)).rowsUpdated > 0);
    for (const row of await rows()) assertNulls(row);
  });
}

test('keeps a null struct null inside of a struct that may not be null', async (t) => {
  const inner = new Struct([optional('street', new Utf8()), optional('number', new Int32())]);
  const outer = new Struct([optional('home', inner), optional('name', new Utf8())]);
  const schema = new Schema([optional('id', new Int32()), required('outer', outer)]);
  const values = [0, 1, 2].map((id) => ({ home: id === 1 ? null : { street: 's', number: id }, name: 'n' }));
  const columns = { id: vectorFromArray([0, 1, 2], new Int32()), outer: vectorFromArray(values, outer) };
  const { update, rows } = await openUpdated(t, new Table(schema, columns));
  await update([[['id'], 'id + 10']], 'id = 1');
  await update([[['outer', 'name'], "'changed'"]], 'id = 11');
  const row = (await rows()).find(({ id }) => id === 11);
  assert.deepEqual(row?.['outer'], { home: null, name: 'changed' });
});

test('keeps the schema as it is', async (t) => {
  const { update, engine, table } = await openUpdated(t, toPeople(10));
  const before = (await engine.describeTable(table)).schema;
  await update([
    [['person', 'age'], "'7'"],
    [['person', 'home', 'number'], '7.9'],
  ]);
  assert.deepEqual((await engine.describeTable(table)).schema, before);
});

test('converts values to the type of a nested field as it does for a column', async (t) => {
  const inner = new Struct([optional('flag', new Int32()), optional('big', new Uint64())]);
  const { update, rows } = await openUpdated(
    t,
    toTable({ s: [inner, [{ flag: 1, big: 1n }]], top: [new Uint64(), [1n]] }),
  );
  await update([
    [['s', 'flag'], 'true'],
    [['s', 'big'], '18446744073709551615'],
    [['top'], '18446744073709551615'],
  ]);
  assert.deepEqual(await rows(), [{ s: { flag: 1, big: Number(2n ** 64n) }, top: Number(2n ** 64n) }]);
});

test('writes vectors of the right length, at the top and inside a struct', async (t) => {
  const inner = new Struct([optional('v', vectorType(2)), optional('w', new Utf8())]);
  const table = toTable({
    v: [vectorType(3), [[1, 2, 3]]],
    s: [inner, [{ v: [1, 2], w: 'w' }]],
    many: [new List(optional('item', vectorType(2))), [[[1, 2]]]],
  });
  const { update, rows } = await openUpdated(t, table);
  await update([
    [['v'], '[7, 8, 9]'],
    [['s', 'v'], '[5, 6]'],
    [['many'], 'make_array(make_array(3, 4), make_array(5, 6))'],
  ]);
  assert.deepEqual(await rows(), [
    {
      v: [7, 8, 9],
      s: { v: [5, 6], w: 'w' },
      many: [
        [3, 4],
        [5, 6],
      ],
    },
  ]);
});

for (const [title, pairs] of [
  ['at the top', [[['v'], '[1, 2]']]],
  ['inside a struct', [[['s', 'v'], '[1, 2, 3]']]],
  ['inside a list', [[['many'], 'make_array(make_array(1, 2, 3))']]],
] as const) {
  test(`refuses a vector of the wrong length ${title}, and changes nothing`, async (t) => {
    const inner = new Struct([optional('v', vectorType(2))]);
    const table = toTable({
      v: [vectorType(3), [[1, 2, 3]]],
      s: [inner, [{ v: [1, 2] }]],
      many: [new List(optional('item', vectorType(2))), [[[1, 2]]]],
    });
    const { update, rows } = await openUpdated(t, table);
    const before = await rows();
    await assert.rejects(update(pairs), refused('InvalidInput', /elements; the column needs/));
    assert.deepEqual(await rows(), before);
  });
}

test('writes items that may not be null', async (t) => {
  const type = new FixedSizeList(2, required('item', new Float32()));
  const { update, rows } = await openUpdated(t, toTable({ v: [type, [[1, 2]]] }));
  await update([[['v'], '[3, 4]']]);
  assert.deepEqual(await rows(), [{ v: [3, 4] }]);
});

test('sets a whole struct, and a whole list of structs', async (t) => {
  const item = new Struct([optional('k', new Int32())]);
  const table = toTable({ s: [item, [{ k: 1 }]], l: [new List(optional('item', item)), [[{ k: 1 }]]] });
  const { update, rows } = await openUpdated(t, table);
  await update([
    [['s'], "named_struct('k', 2)"],
    [['l'], "make_array(named_struct('k', 3))"],
  ]);
  assert.deepEqual(await rows(), [{ s: { k: 2 }, l: [{ k: 3 }] }]);
});

const PAIRS: readonly (readonly [title: string, pairs: readonly Pair[], kind: ErrorName, pattern: RegExp])[] = [
  [
    'a path given twice',
    [
      [['note'], '1'],
      [['note'], '2'],
    ],
    'InvalidInput',
    /"note" is updated twice/,
  ],
  [
    'a struct before its field',
    [
      [['person'], 'NULL'],
      [['person', 'age'], '2'],
    ],
    'InvalidInput',
    /together with/,
  ],
  [
    'a field before its struct',
    [
      [['person', 'home', 'street'], '1'],
      [['person', 'home'], 'NULL'],
    ],
    'InvalidInput',
    /together with/,
  ],
  ['a column that is not there', [[['nope'], '1']], 'TableColumnNotFound', /nope/],
  ['a nested field that is not there', [[['person', 'nope'], '1']], 'TableColumnNotFound', /person\.nope/],
  ['a field of a column without fields', [[['note', 'x'], '1']], 'TableColumnNotFound', /note\.x/],
  ['an expression with an unknown column', [[['note'], 'nope']], 'TableColumnNotFound', /nope/],
  ['a value that does not convert', [[['id'], "'abc'"]], 'InvalidInput', /cannot be converted/],
  ['a nested value that does not convert', [[['person', 'age'], "'abc'"]], 'InvalidInput', /cannot be converted/],
  ['a number out of range', [[['id'], '99999999999']], 'InvalidInput', /cannot be converted/],
  ['a division by zero', [[['id'], '1 / 0']], 'InvalidInput', /divides by zero/],
  ['an unknown function', [[['id'], 'frobnicate(1)']], 'InvalidInput', /"frobnicate" does not exist/],
  ['SQL that does not parse', [[['id'], '1 +']], 'InvalidInput', /not valid/],
];

for (const [title, pairs, kind, pattern] of PAIRS) {
  test(`refuses ${title}, and changes nothing`, async (t) => {
    const { update, engine, table } = await openUpdated(t, toPeople(3));
    await assert.rejects(update(pairs), refused(kind, pattern));
    assert.equal((await engine.describeTable(table)).version, 1);
  });
}

test('refuses a field inside a list of structs, with or without the name of its items', async (t) => {
  const item = new Struct([optional('k', new Int32())]);
  const { update } = await openUpdated(t, toTable({ l: [new List(optional('item', item)), [[{ k: 1 }]]] }));
  await assert.rejects(update([[['l', 'k'], '1']]), refused('InvalidInput', /is a list or a map/));
  await assert.rejects(
    update([[['l', 'item', 'k'], '1']]),
    refused('InvalidInput', /"l\.item\.k".*is a list or a map/),
  );
});

test('refuses to rewrite a struct with a field that may not be null', async (t) => {
  const strict = new Struct([optional('a', new Int32()), required('b', new Int32())]);
  const { update } = await openUpdated(t, toTable({ s: [strict, [{ a: 1, b: 1 }]] }));
  await assert.rejects(update([[['s', 'a'], '2']]), refused('InvalidInput', /"s\.b" is not nullable/));
});

test('rewrites a struct beside another whose field may not be null', async (t) => {
  const strict = new Struct([required('b', new Int32())]);
  const outer = new Struct([optional('a', new Int32()), optional('strict', strict)]);
  const { update, rows } = await openUpdated(t, toTable({ s: [outer, [{ a: 1, strict: { b: 1 } }]] }));
  await update([[['s', 'a'], '2']]);
  assert.deepEqual(await rows(), [{ s: { a: 2, strict: { b: 1 } } }]);
});

test('refuses null for a column that may not be null', async (t) => {
  const schema = new Schema([required('id', new Int32())]);
  const { update } = await openUpdated(t, new Table(schema, { id: vectorFromArray([1], new Int32()) }));
  await assert.rejects(update([[['id'], 'NULL']]), refused('TableSchemaValidationError', /"id" must not be null/));
});

for (const [title, predicate, kind, pattern] of [
  ['a predicate with an unknown column', 'nope = 1', 'TableColumnNotFound', /nope/],
  ['a predicate that is no condition', 'id', 'InvalidInput', /not a condition/],
  ['a predicate that compares unlike types', "id = 'x'", 'InvalidInput', /cannot be converted/],
] as const) {
  test(`refuses ${title}`, async (t) => {
    const { update } = await openUpdated(t, toItems(3));
    await assert.rejects(update([[['score'], '2']], predicate), refused(kind, pattern));
  });
}

test('refuses to store text as JSON, which only NULL can replace', async (t) => {
  const { engine, location } = await openTestEngine(t);
  await engine.createTable(location(), await openFixture('json_ext'), {});
  const target = { location: location(), branch: undefined };
  const update = async (expression: string) =>
    commitPlan(engine, target, engine.commits.update(target, toRequest([[['x'], expression]])));
  await assert.rejects(update(`'{"b": 2}'`), refused('InvalidInput', /contains JSON/));
  await update('NULL');
  assert.ok((await readRows(t, latest(location()))).every((row) => row['x'] === null));
});

function assertNulls({ id, person }: Row): void {
  const number = Number(id);
  if (number % 5 === 0) {
    assert.equal(person, null, `person of ${number}`);
    return;
  }
  const home = Object(person)['home'] as unknown;
  assert.equal(home === null, number % 7 === 0, `home of ${number}`);
}

function byId(one: Row, other: Row): number {
  return Number(one['id']) - Number(other['id']);
}
