import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createId, createIdAfter } from '../../src/catalog/ids.ts';

const millisecond = fc.integer({ min: 0, max: 2 ** 48 - 1 });

test('an id is 26 characters that are safe in a directory name', () => {
  fc.assert(fc.property(millisecond, (now) => assert.match(createId(now), /^[0-7][0-9a-hjkmnp-tv-z]{25}$/)));
});

test('ids sort by time', () => {
  fc.assert(
    fc.property(millisecond, millisecond, (one, other) => {
      if (one !== other) assert.equal(createId(one) < createId(other), one < other);
    }),
  );
});

test('ten thousand ids of one millisecond all differ', () => {
  assert.equal(new Set(Array.from({ length: 10_000 }, () => createId(5))).size, 10_000);
});

test('an id after another is past it when the clock goes back', () => {
  fc.assert(
    fc.property(millisecond, millisecond, (one, other) => {
      const last = createId(one);
      const next = createIdAfter(last, other);
      assert.ok(next > last);
      assert.equal(next.length, 26);
    }),
  );
});

test('an id after one that ends in the last digit carries over', () => {
  assert.equal(createIdAfter('7123456789abcdefghjkmnpqzz', 0), '7123456789abcdefghjkmnpr00');
});

test('the first id of all has none before it', () => {
  assert.equal(createIdAfter(undefined, 0).slice(0, 9), '000000000');
});
