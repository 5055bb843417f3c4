import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Type } from 'typebox';
import { checkShape } from '../../src/invoke/decode-body.ts';
import { AddColumnsBody, UpdateFieldMetadataBody } from '../../src/wire/columns.ts';
import { QueryTableBody, UpdateTableBody } from '../../src/wire/data.ts';
import { refusalOf } from '../support/refusal.ts';

const update = UpdateTableBody;
const query = QueryTableBody;
const metadata = UpdateFieldMetadataBody;

const cases: readonly (readonly [shape: Type.TSchema, body: Record<string, unknown>, message: string])[] = [
  [update, {}, 'The body is missing the field updates.'],
  [update, { updates: 'x' }, 'updates must be array.'],
  [update, { updates: [['a']] }, 'updates[0] has fewer than 2 elements.'],
  [update, { updates: [['a', 'b', 'c']] }, 'updates[0][2] is one element too many.'],
  [update, { updates: [['a', 1]] }, 'updates[0][1] must be string.'],
  [update, { updates: [], properties: { a: 1 } }, 'properties.a must be string.'],
  [update, { updates: [], context: 'x' }, 'context must be object.'],
  [update, { updates: [], id: 'a' }, 'id must be array.'],
  [query, { k: -1 }, 'k must be >= 0.'],
  [query, { k: 1.5 }, 'k must be integer.'],
  [query, { k: '3' }, 'k must be integer.'],
  [query, { prefilter: 'true' }, 'prefilter must be boolean.'],
  [query, { vector: { single_vector: [1, '2'] } }, 'vector.single_vector[1] must be number.'],
  [query, { vector: { single_vector: [Number.POSITIVE_INFINITY] } }, 'vector.single_vector[0] must be number.'],
  [query, { vector: [1, 2] }, 'vector must be object.'],
  [query, { vector: { multi_vector: [[1], [2, [3]]] } }, 'vector.multi_vector[1][1] must be number.'],
  [query, { filter: {} }, 'filter must be string.'],
  [query, { columns: { column_aliases: { a: 'x', b: [1] } } }, 'columns.column_aliases.b must be string.'],
  [metadata, { updates: [{ path: 'a', metadata: { x: [] } }] }, 'updates[0].metadata.x must be string or null.'],
  [query, { vector_column: '' }, 'vector_column is empty.'],
  [query, { columns: { column_names: [''] } }, 'columns.column_names[0] is empty.'],
  [metadata, { updates: [{}] }, 'updates[0] is missing the fields path, metadata.'],
  [metadata, { updates: [{ path: 'a', metadata: { x: 1 } }] }, 'updates[0].metadata.x must be string or null.'],
];

for (const [shape, body, message] of cases) {
  test(`refuses ${JSON.stringify(body)} by its path`, () => {
    const refusal = refusalOf(() => checkShape(shape, body, false));
    assert.equal(refusal.kind, 'InvalidInput');
    assert.equal(refusal.message, message);
  });
}

test('reads null as absent inside of a body too, where a field may be absent and must not be null', () => {
  const read = (shape: Type.TSchema, body: Record<string, unknown>): Record<string, unknown> => {
    checkShape(shape, body, false);
    return body;
  };
  const vector = { single_vector: [1], multi_vector: null };
  assert.deepEqual(read(query, { vector }), { vector: { single_vector: [1] } });
  const added = { new_columns: [{ name: 'a', expression: null, data_type: 'int32' }] };
  assert.deepEqual(read(AddColumnsBody, added), { new_columns: [{ name: 'a', data_type: 'int32' }] });
  const updates = [{ path: 'a', metadata: { gone: null }, replace: null }];
  assert.deepEqual(read(metadata, { updates }), { updates: [{ path: 'a', metadata: { gone: null } }] });
  assert.match(refusalOf(() => read(metadata, { updates: [{ path: null, metadata: {} }] })).message, /path/);
});

/** Counts how many items of a list are looked at. */
function counted(items: readonly unknown[]): { readonly items: unknown[]; readonly reads: () => number } {
  let reads = 0;
  const get = (target: unknown[], key: string | symbol): unknown => {
    if (typeof key === 'string' && /^\d+$/.test(key)) reads += 1;
    return Reflect.get(target, key);
  };
  return { items: new Proxy([...items], { get }), reads: () => reads };
}

test('stops at the first wrong item of a list', () => {
  const wrong = counted([1, 2, ...Array<string>(100_000).fill('1')]);
  const refusal = refusalOf(() => checkShape(query, { vector: { single_vector: wrong.items } }, true));
  assert.equal(refusal.message, 'vector.single_vector[2] must be number.');
  assert.ok(wrong.reads() < 100, `${wrong.reads()} reads`);
});

test('looks at no more than a few of very many unknown fields', () => {
  const body = Object.fromEntries(Array.from({ length: 100_000 }, (_, key) => [`k${key}`, 1]));
  let reads = 0;
  const proxy = new Proxy(body, {
    get: (target, key) => {
      reads += 1;
      return Reflect.get(target, key);
    },
  });
  const refusal = refusalOf(() => checkShape(query, proxy, false));
  assert.equal(refusal.message, 'The field "k0" is unknown in the body.');
  assert.ok(reads < 1000, `${reads} reads`);
});

test('names an unknown field and its parent', () => {
  const unknown = (body: Record<string, unknown>): string => refusalOf(() => checkShape(update, body, false)).message;
  assert.equal(unknown({ updates: [], predikate: 'id = 1' }), 'The field "predikate" is unknown in the body.');
  const identity = { api_key: 'k', 'a/b~c': 1 };
  assert.equal(unknown({ updates: [], identity }), 'The field "a/b~c" is unknown in identity.');
});

test('suggests the known field that an unknown one is near to', () => {
  const hint = (body: Record<string, unknown>): string | undefined =>
    refusalOf(() => checkShape(update, body, false)).hint;
  assert.equal(hint({ updates: [], predikate: 'id = 1' }), 'Did you mean "predicate"? Unknown fields are refused.');
  assert.equal(hint({ updates: [], identity: { apikey: 'k' } }), 'Did you mean "api_key"? Unknown fields are refused.');
  assert.equal(hint({ updates: [], zzz: 1 }), 'Check its spelling. Unknown fields are refused.');
});

test('names an unknown field before anything else that is wrong', () => {
  const refusal = refusalOf(() => checkShape(update, { update: [['a', 'b']] }, false));
  assert.equal(refusal.message, 'The field "update" is unknown in the body.');
});

test('quotes and shortens names that callers chose', () => {
  const place = (name: string): string =>
    refusalOf(() => checkShape(metadata, { updates: [{ path: 'a', metadata: { [name]: 1 } }] }, false)).message;
  assert.equal(place('a\u202eb/c~d'), 'updates[0].metadata["a\\u{202e}b/c~d"] must be string or null.');
  assert.equal(place(''), 'updates[0].metadata[""] must be string or null.');
  assert.ok(place('n'.repeat(100_000)).length < 300);
});

test('leaves a body that fits as it is, lenient or not', () => {
  for (const lenient of [false, true]) {
    const body = { updates: [['a', 'b']], context: { anything: [1] }, properties: { x: 'y' } };
    const before = structuredClone(body);
    assert.deepEqual(checkShape(update, body, lenient), []);
    assert.deepEqual(body, before);
  }
});

test('drops every unknown field when lenient, and returns their paths', () => {
  const body = {
    updates: Array.from({ length: 30 }, () => ({ path: 'a', metadata: { keep: 'x' }, later: { deep: 1 } })),
    newer: true,
  };
  const dropped = checkShape(metadata, body, true);
  assert.equal(dropped.length, 31);
  assert.ok(dropped.includes('newer') && dropped.includes('updates[29].later'));
  assert.deepEqual(body, { updates: Array.from({ length: 30 }, () => ({ path: 'a', metadata: { keep: 'x' } })) });
});

test('does not let a value of the wrong type go as an unknown field when lenient', () => {
  const refusal = refusalOf(() => checkShape(update, { updates: [], properties: { price: 1 }, newer: 1 }, true));
  assert.equal(refusal.message, 'properties.price must be string.');
});

test('never drops what the caller may name freely', () => {
  const body = { updates: [{ path: 'a', metadata: { unknown: 'x' } }], context: { unknown: 1 }, newer: 1 };
  assert.deepEqual(checkShape(metadata, body, true), ['newer']);
  assert.deepEqual(body, { updates: [{ path: 'a', metadata: { unknown: 'x' } }], context: { unknown: 1 } });
});

test('accepts or refuses any object, and throws nothing but refusals', () => {
  const names = fc.constantFrom('a', 'b', 'c', 'items', 'd/~');
  const shape = Type.Object(
    { a: Type.Optional(Type.Integer()), items: Type.Optional(Type.Array(Type.Tuple([Type.String()]))) },
    { additionalProperties: false },
  );
  fc.assert(
    fc.property(fc.dictionary(names, fc.jsonValue({ maxDepth: 3 })), fc.boolean(), (body, lenient) => {
      const before = structuredClone(body);
      try {
        const dropped = checkShape(shape, body, lenient);
        const known = Object.entries(before).filter(([name]) => name === 'a' || name === 'items');
        assert.deepEqual({ ...body }, Object.fromEntries(known.filter(([, value]) => value !== null)));
        assert.equal(dropped.length, Object.keys(before).length - known.length);
      } catch (error) {
        assert.equal((error as Error).name, 'ServiceError');
      }
    }),
  );
});
