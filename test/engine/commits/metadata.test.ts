import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { Field, Float32, FixedSizeList, Int32, List, Schema, Struct, Table, vectorFromArray } from 'apache-arrow';
import type { FieldMetadataEntry } from '../../../src/engine/engine.ts';
import { ServiceError } from '../../../src/errors/service-error.ts';
import type { FieldPath } from '../../../src/model/field-path.ts';
import { resolveField } from '../../../src/model/field-path.ts';
import { commitPlan, latest, openFixture, openTestEngine, openTable, readRows, sql } from '../test-engine.ts';
import { optional, toItems, toPeople } from '../sample-tables.ts';

type Values = Readonly<Record<string, string | null>>;

const merge = (path: FieldPath, metadata: Values): FieldMetadataEntry => ({ path, metadata, replace: false });
const replace = (path: FieldPath, metadata: Values): FieldMetadataEntry => ({ path, metadata, replace: true });

async function openDescribed(t: TestContext, table: Table) {
  const fixture = await openTable(t, table);
  const target = { location: fixture.location(), branch: undefined };
  return {
    ...fixture,
    change: async (...entries: readonly FieldMetadataEntry[]) =>
      commitPlan(fixture.engine, target, fixture.engine.commits.fieldMetadata(entries)),
    metadataOf: async (path: FieldPath) => {
      const { schema } = await fixture.engine.describeTable(fixture.table);
      return Object.fromEntries(resolveField(schema, path)?.metadata ?? []);
    },
  };
}

/** `id` has metadata from its creation. */
function toDescribed(): Table {
  const field = new Field(
    'id',
    new Int32(),
    true,
    new Map([
      ['unit', 'piece'],
      ['source', 'till'],
    ]),
  );
  return new Table(new Schema([field]), { id: vectorFromArray([1], new Int32()) });
}

test('merges into the existing metadata and returns all of it', async (t) => {
  const { change, metadataOf } = await openDescribed(t, toDescribed());
  const { version, fields } = await change(merge(['id'], { unit: 'box', colour: 'red' }));
  assert.equal(version, 2);
  assert.deepEqual([...fields], [['id', { unit: 'box', source: 'till', colour: 'red' }]]);
  assert.deepEqual(await metadataOf(['id']), { unit: 'box', source: 'till', colour: 'red' });
});

test('deletes a key by null, and accepts that it is missing', async (t) => {
  const { change } = await openDescribed(t, toDescribed());
  const { fields } = await change(merge(['id'], { unit: null, nothing: null }));
  assert.deepEqual(fields.get('id'), { source: 'till' });
});

test('replaces everything', async (t) => {
  const { change } = await openDescribed(t, toDescribed());
  assert.deepEqual((await change(replace(['id'], { only: 'this' }))).fields.get('id'), { only: 'this' });
  assert.deepEqual((await change(replace(['id'], {}))).fields.get('id'), {});
});

test('applies several entries of one field in order', async (t) => {
  const { change, metadataOf } = await openDescribed(t, toDescribed());
  const { fields, version } = await change(
    merge(['id'], { a: '1' }),
    replace(['id'], { b: '2', c: '3' }),
    merge(['id'], { c: null, d: '4' }),
  );
  assert.deepEqual(fields.get('id'), { b: '2', d: '4' });
  assert.deepEqual(await metadataOf(['id']), { b: '2', d: '4' });
  assert.equal(version, 2);
});

test('changes nested fields, each by its canonical path', async (t) => {
  const { change, metadataOf } = await openDescribed(t, toPeople(3));
  const { fields } = await change(
    merge(['person'], { level: '0' }),
    merge(['person', 'nick.name'], { level: '1' }),
    merge(['person', 'home', 'street'], { level: '2' }),
  );
  assert.deepEqual([...fields.keys()], ['person', 'person.`nick.name`', 'person.home.street']);
  assert.deepEqual(await metadataOf(['person', 'home', 'street']), { level: '2' });
  assert.deepEqual(await metadataOf(['person', 'nick.name']), { level: '1' });
  assert.deepEqual(await metadataOf(['person']), { level: '0' });
  assert.deepEqual(await metadataOf(['person', 'age']), {});
});

test('changes fields inside a list', async (t) => {
  const list = new List(optional('item', new Struct([optional('k', new Int32())])));
  const table = new Table(new Schema([optional('l', list)]), { l: vectorFromArray([[{ k: 1 }]], list) });
  const { change, metadataOf } = await openDescribed(t, table);
  await change(merge(['l', 'item', 'k'], { a: 'b' }));
  assert.deepEqual(await metadataOf(['l', 'item', 'k']), { a: 'b' });
});

test('changes nothing when one of the paths is missing', async (t) => {
  const { change, metadataOf, engine, table } = await openDescribed(t, toDescribed());
  await assert.rejects(
    change(merge(['id'], { a: 'b' }), merge(['nope', 'deep'], { a: 'b' })),
    (error) =>
      error instanceof ServiceError && error.kind === 'TableColumnNotFound' && /nope\.deep/.test(error.message),
  );
  assert.deepEqual(await metadataOf(['id']), { unit: 'piece', source: 'till' });
  assert.equal((await engine.describeTable(table)).version, 1);
});

test('refuses the item of a vector, which is no field to the storage format', async (t) => {
  const type = new FixedSizeList(2, optional('item', new Float32()));
  const table = new Table(new Schema([optional('v', type)]), { v: vectorFromArray([[1, 2]], type) });
  const { change } = await openDescribed(t, table);
  await assert.rejects(
    change(merge(['v', 'item'], { a: 'b' })),
    (error) => error instanceof ServiceError && error.kind === 'TableColumnNotFound' && /v\.item/.test(error.message),
  );
});

for (const name of ['uuid_ext', 'json_ext', 'custom_ext', 'tensor_ext']) {
  test(`keeps the extension type of ${name} through a replacement`, async (t) => {
    const { engine, location } = await openTestEngine(t);
    const { rows } = await engine.createTable(location(), await openFixture(name), {});
    const target = { location: location(), branch: undefined };
    const before = await engine.describeTable(latest(location()));
    const extension = Object.fromEntries(resolveField(before.schema, ['x'])?.metadata ?? []);
    const { fields } = await commitPlan(
      engine,
      target,
      engine.commits.fieldMetadata([replace(['x'], { unit: 'one' })]),
    );
    assert.deepEqual(fields.get('x'), { ...extension, unit: 'one' });
    assert.equal((await readRows(t, latest(location()))).length, rows);
  });
}

test('is kept by later updates of rows', async (t) => {
  const { change, metadataOf, engine, location } = await openDescribed(t, toItems(3));
  await change(merge(['score'], { unit: 'points' }));
  const update = { assignments: [{ path: ['score'] as const, expression: sql('2') }], predicate: sql('id = 1') };
  const target = { location: location(), branch: undefined };
  await commitPlan(engine, target, engine.commits.update(target, update));
  assert.deepEqual(await metadataOf(['score']), { unit: 'points' });
});

test('keeps odd keys and long values byte for byte', async (t) => {
  const { change, metadataOf } = await openDescribed(t, toDescribed());
  const odd = { __proto__x: 'a', 'ключ ✓': 'значение', '': 'empty key', long: 'x'.repeat(100_000), 'a\nb': '\u0000' };
  await change(replace(['id'], odd));
  assert.deepEqual(await metadataOf(['id']), odd);
});
