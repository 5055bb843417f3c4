import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readNewTablePath, readTablePath } from '../../src/http/path-identifier.ts';
import { refusalOf } from '../support/refusal.ts';

test('reads the table that the address names', () => {
  assert.deepEqual(readTablePath({ identifier: 'orders' }, '$', undefined), ['orders']);
  assert.deepEqual(readTablePath({ identifier: 'sales$eu$orders' }, '$', undefined), ['sales', 'eu', 'orders']);
  assert.deepEqual(readTablePath({ identifier: 'sales::eu' }, '::', undefined), ['sales', 'eu']);
});

test('takes a body that names the same table', () => {
  assert.deepEqual(readTablePath({ identifier: 'a$b' }, '$', ['a', 'b']), ['a', 'b']);
  assert.deepEqual(readTablePath({ identifier: 'a.b' }, '.', ['a', 'b']), ['a', 'b']);
});

test('takes the body’s word for spaces that a client wrote as plus signs', () => {
  assert.deepEqual(readTablePath({ identifier: 'my+table' }, '$', ['my table']), ['my table']);
  assert.deepEqual(readTablePath({ identifier: 'my+table' }, '$', ['my+table']), ['my+table']);
  assert.deepEqual(readTablePath({ identifier: 'my+table' }, '$', undefined), ['my+table']);
});

test('refuses a body that names another table', () => {
  for (const id of [['b'], ['a', 'b', 'c'], ['b', 'a'], ['ab'], ['a b']]) {
    const refusal = refusalOf(() => readTablePath({ identifier: 'a$b' }, '$', id));
    assert.equal(refusal.kind, 'InvalidInput');
    assert.equal(refusal.message, `The id in the body, "${id.join('$')}", is not the one in the address.`);
  }
});

test('refuses an id in the body that only looks the same when it is joined', () => {
  assert.match(refusalOf(() => readTablePath({ identifier: 'a$b' }, '$', ['a$b'])).message, /contains the delimiter/);
  assert.match(refusalOf(() => readTablePath({ identifier: 'a' }, '$', ['a', ''])).message, /is empty/);
});

test('refuses the root namespace, empty names and unusable delimiters, with and without an id in the body', () => {
  const wrong: readonly (readonly [identifier: string | undefined, delimiter: string, id: string[]])[] = [
    ['$', '$', []],
    ['', '$', ['']],
    [undefined, '$', []],
    ['a$$b', '$', ['a', '', 'b']],
    ['..', '$', ['..']],
    ['a', '', ['a']],
    ['a', 'nine-long', ['a']],
    ['a\u0000b', '$', ['a\u0000b']],
    ['a/b', '$', ['a/b']],
  ];
  for (const [identifier, delimiter, id] of wrong) {
    assert.equal(refusalOf(() => readTablePath({ identifier }, delimiter, undefined)).kind, 'InvalidInput');
    assert.equal(refusalOf(() => readTablePath({ identifier }, delimiter, id)).kind, 'InvalidInput');
  }
});

test('reads the path of a new table, or one name that is not split', () => {
  assert.deepEqual(readNewTablePath({ identifier: 'a$b' }, '$', 'path'), ['a', 'b']);
  assert.deepEqual(readNewTablePath({ identifier: 'b' }, '$', 'name'), ['b']);
  assert.equal(refusalOf(() => readNewTablePath({ identifier: 'a$b' }, '$', 'name')).kind, 'InvalidInput');
  assert.equal(refusalOf(() => readNewTablePath({ identifier: '$' }, '$', 'path')).kind, 'InvalidInput');
  assert.equal(refusalOf(() => readNewTablePath({ identifier: undefined }, '$', 'name')).kind, 'InvalidInput');
});
