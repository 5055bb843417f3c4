import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { UNLIMITED, toContractExplanation, toContractQuery } from '../../src/wire/query-forms.ts';

test('reads a bare array as one vector, an array of arrays as several, an empty one as none', () => {
  assert.deepEqual(toContractQuery({ vector: [1, 2] }), { vector: { single_vector: [1, 2] } });
  assert.deepEqual(toContractQuery({ vector: [[1], [2]] }), { vector: { multi_vector: [[1], [2]] } });
  assert.deepEqual(toContractQuery({ vector: [], k: 3 }), { k: 3 });
});

test('reads an array of columns as names, and an object of others as aliases', () => {
  assert.deepEqual(toContractQuery({ columns: ['a', 'b'] }), { columns: { column_names: ['a', 'b'] } });
  assert.deepEqual(toContractQuery({ columns: [] }), { columns: { column_names: [] } });
  const aliases = { total: 'price * 2', column_names: 'a' };
  assert.deepEqual(toContractQuery({ columns: aliases }), { columns: { column_aliases: aliases } });
});

test('reads an array of pairs as aliases, and one that holds anything else as names', () => {
  const pairs = [
    ['total', 'price * 2'],
    ['name', 'name'],
  ];
  const columns = { column_aliases: { total: 'price * 2', name: 'name' } };
  assert.deepEqual(toContractQuery({ columns: pairs }), { columns });
  for (const wrong of [[['a', 'b'], 'c'], [['a']], [['a', 1]]]) {
    assert.deepEqual(toContractQuery({ columns: wrong }), { columns: { column_names: wrong } });
  }
});

test('refuses pairs that no object can hold', () => {
  const twice = [
    ['id', 'id'],
    ['id', 'price'],
  ];
  assert.throws(() => toContractQuery({ columns: twice }), /The column "id" is selected more than once/);
  assert.throws(() => toContractQuery({ columns: [['__proto__', 'id']] }), /"__proto__" is not allowed/);
});

test('reads the two forms of a full-text query by what they hold', () => {
  const text = { query: 'puppy', columns: ['text'] };
  assert.deepEqual(toContractQuery({ full_text_query: text }), { full_text_query: { string_query: text } });
  const tree = { query: { match: { terms: 'puppy' } } };
  assert.deepEqual(toContractQuery({ full_text_query: tree }), { full_text_query: { structured_query: tree } });
});

test('reads the number that stands for no limit as no limit, and no other', () => {
  const unlimited: unknown = JSON.parse('{"k":9223372036854775807}');
  assert.deepEqual(toContractQuery(Object(unlimited)), { k: UNLIMITED });
  assert.deepEqual(toContractQuery({ k: 2 ** 53 }), { k: UNLIMITED });
  for (const k of [0, 10, 2 ** 53 - 1, 2 ** 64, -1, '10', 1.5]) assert.deepEqual(toContractQuery({ k }), { k });
});

test('leaves the forms of the contract as they are', () => {
  const contract = [
    { vector: { single_vector: [1] } },
    { vector: { multi_vector: [[1]] } },
    { vector: { single_vector: [1], multi_vector: [[1]] } },
    { columns: { column_names: ['a'] } },
    { columns: { column_aliases: { a: 'b' } } },
    { columns: { column_names: ['a'], column_aliases: { a: 'b' } } },
    { columns: {} },
    { full_text_query: { string_query: { query: 'x' } } },
    { full_text_query: { structured_query: { query: { match: { terms: 'x' } } } } },
    { full_text_query: {} },
    { filter: 'a = 1', k: 5, unknown: [1] },
  ];
  for (const body of contract) assert.deepEqual(toContractQuery(body), body);
});

test('leaves what is neither form to the shape', () => {
  for (const wrong of ['x', 7, true]) {
    assert.deepEqual(toContractQuery({ vector: wrong, full_text_query: wrong }), {
      vector: wrong,
      full_text_query: wrong,
    });
    assert.deepEqual(toContractQuery({ columns: wrong }), { columns: wrong });
  }
});

function isNoneTwice(columns: unknown): boolean {
  const names = Array.isArray(columns) ? columns.filter((pair) => Array.isArray(pair)).map(([name]) => name) : [];
  return new Set(names).size === names.length && !names.includes('__proto__');
}

test('changes nothing the second time, and never the body that it was given', () => {
  const body = fc.record(
    {
      vector: fc.jsonValue(),
      columns: fc.jsonValue().filter(isNoneTwice),
      full_text_query: fc.jsonValue(),
      k: fc.jsonValue(),
    },
    { requiredKeys: [], noNullPrototype: true },
  );
  fc.assert(
    fc.property(body, (given) => {
      const before = structuredClone(given);
      const once = toContractQuery(given);
      assert.deepEqual(given, before);
      const isAlias = !Array.isArray(given.columns) && typeof given.columns === 'object';
      // An alias may have the very names of the contract's two keys; only then do the two readings differ.
      if (!isAlias) assert.deepEqual(toContractQuery(once), once);
    }),
  );
});

test('brings the query inside a request to explain it to the same form, without its nulls', () => {
  const body = { verbose: true, query: { vector: [1, 2], k: 3, ef: null, columns: ['a'] } };
  assert.deepEqual(toContractExplanation(body), {
    verbose: true,
    query: { vector: { single_vector: [1, 2] }, k: 3, columns: { column_names: ['a'] } },
  });
  assert.deepEqual(toContractExplanation({ query: 'no object' }), { query: 'no object' });
});
