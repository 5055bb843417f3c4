import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { fromPathText, pathKey, rangeFrom, toPathText, toTablePath } from '../../src/catalog/path-text.ts';
import { namePaths } from './names.ts';
import { refusal } from './temporary-catalog.ts';

const compare = (one: string, other: string): number => Buffer.compare(Buffer.from(one), Buffer.from(other));

function comparePaths(one: readonly string[], other: readonly string[]): number {
  const at = one.findIndex((name, index) => name !== other[index]);
  if (at === -1) return one.length - other.length;
  const against = other[at];
  return against === undefined ? 1 : compare(one[at] ?? '', against);
}

test('a path comes back as it was', () => {
  fc.assert(
    fc.property(namePaths, (path) => {
      assert.deepEqual(fromPathText(toPathText(path)), path);
      assert.deepEqual(toTablePath(toPathText(path)), path);
    }),
  );
});

test('the root is the empty text', () => {
  assert.equal(toPathText([]), '');
  assert.deepEqual(fromPathText(''), []);
});

test('texts sort as their paths do, name by name', () => {
  fc.assert(
    fc.property(namePaths, namePaths, (one, other) => {
      assert.equal(Math.sign(compare(toPathText(one), toPathText(other))), Math.sign(comparePaths(one, other)));
    }),
  );
});

test('a range below a path holds what is below it, and nothing else', () => {
  fc.assert(
    fc.property(namePaths, namePaths, fc.boolean(), (above, path, isBelow) => {
      const whole = isBelow ? [...above, ...path] : path;
      const range = rangeFrom(above);
      assert.ok(range);
      const text = toPathText(whole);
      const isInRange = compare(text, range.from) >= 0 && compare(text, range.before) < 0;
      assert.equal(
        isInRange,
        above.every((name, index) => name === whole[index]),
      );
    }),
  );
});

test('the root has no range, since all is below it', () => {
  assert.equal(rangeFrom([]), undefined);
});

test('refuses a name that would be read back as two or as none', () => {
  assert.throws(() => toPathText(['a\u001fb']), refusal('InvalidInput'));
  assert.throws(() => toPathText(['']), refusal('InvalidInput'));
});

test('keys of different databases differ', () => {
  assert.notEqual(pathKey('one', ['a']), pathKey('two', ['a']));
});
