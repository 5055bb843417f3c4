import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readNamespacePath, readTablePath } from '../../src/invoke/target.ts';
import { refusalOf } from '../support/refusal.ts';

function tablePath(identifier: string, delimiter: string, bodyId: unknown, kind: 'path' | 'name' = 'path') {
  return readTablePath({
    operation: { identifier: kind },
    params: { id: identifier },
    delimiter,
    body: { id: bodyId },
  });
}

function namespacePath(identifier: string, delimiter: string, bodyId: unknown) {
  return readNamespacePath({
    operation: { identifier: 'path' },
    params: { id: identifier },
    delimiter,
    body: { id: bodyId },
  });
}

test('reads the table that the address names', () => {
  assert.deepEqual(tablePath('orders', '$', undefined), ['orders']);
  assert.deepEqual(tablePath('sales$eu$orders', '$', undefined), ['sales', 'eu', 'orders']);
  assert.deepEqual(tablePath('sales::eu', '::', undefined), ['sales', 'eu']);
});

test('takes a body that names the same table', () => {
  assert.deepEqual(tablePath('a$b', '$', ['a', 'b']), ['a', 'b']);
  assert.deepEqual(tablePath('a.b', '.', ['a', 'b']), ['a', 'b']);
});

test('takes the body’s word for spaces that a client wrote as plus signs', () => {
  assert.deepEqual(tablePath('my+table', '$', ['my table']), ['my table']);
  assert.deepEqual(tablePath('my+table', '$', ['my+table']), ['my+table']);
  assert.deepEqual(tablePath('my+table', '$', undefined), ['my+table']);
});

test('refuses a body that names another table', () => {
  for (const id of [['b'], ['a', 'b', 'c'], ['b', 'a'], ['ab'], ['a b']]) {
    const refusal = refusalOf(() => tablePath('a$b', '$', id));
    assert.equal(refusal.kind, 'InvalidInput');
    assert.equal(refusal.message, `The id in the body, "${id.join('$')}", differs from the id in the URL.`);
  }
});

test('refuses an id in the body that only looks the same when it is joined', () => {
  assert.match(refusalOf(() => tablePath('a$b', '$', ['a$b'])).message, /contains the delimiter/);
  assert.match(refusalOf(() => tablePath('a', '$', ['a', ''])).message, /is empty/);
});

test('refuses the root namespace, empty names and unusable delimiters, with and without an id in the body', () => {
  const wrong: readonly (readonly [identifier: string, delimiter: string, id: string[]])[] = [
    ['$', '$', []],
    ['', '$', ['']],
    ['a$$b', '$', ['a', '', 'b']],
    ['..', '$', ['..']],
    ['a', '', ['a']],
    ['a', 'nine-long', ['a']],
    ['a\u0000b', '$', ['a\u0000b']],
    ['a/b', '$', ['a/b']],
  ];
  for (const [identifier, delimiter, id] of wrong) {
    assert.equal(refusalOf(() => tablePath(identifier, delimiter, undefined)).kind, 'InvalidInput');
    assert.equal(refusalOf(() => tablePath(identifier, delimiter, id)).kind, 'InvalidInput');
  }
});

test('reads one name that is not split', () => {
  assert.deepEqual(tablePath('b', '$', undefined, 'name'), ['b']);
  assert.equal(refusalOf(() => tablePath('a$b', '$', undefined, 'name')).kind, 'InvalidInput');
  assert.equal(refusalOf(() => tablePath('', '$', undefined, 'name')).kind, 'InvalidInput');
});

test('reads a namespace, and the root however it is written', () => {
  assert.deepEqual(namespacePath('a$b', '$', undefined), ['a', 'b']);
  assert.deepEqual(namespacePath('$', '$', undefined), []);
  assert.deepEqual(namespacePath('', '.', undefined), []);
  assert.deepEqual(namespacePath('$', '$', []), []);
  assert.deepEqual(namespacePath('a+b', '$', ['a b']), ['a b']);
});

test('refuses a body that names another namespace', () => {
  for (const [identifier, id] of [
    ['a', []],
    ['$', ['a']],
    ['a$b', ['a']],
  ] as const) {
    assert.equal(refusalOf(() => namespacePath(identifier, '$', id)).kind, 'InvalidInput');
  }
});
