import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { packNumbers, unpackNumbers } from '../../src/vectors/packed-numbers.ts';

const finite = { noNaN: true, noDefaultInfinity: true } as const;
// There is no minus zero in JSON either.
const numbers = fc.array(fc.oneof(fc.double(finite), fc.float(finite), fc.integer()).map((number) => number + 0));

test('numbers that were packed are the same numbers', () => {
  fc.assert(fc.property(numbers, (each) => assert.deepEqual(unpackNumbers(packNumbers(each)), each)));
});

test('a packed text needs no escapes in an address', () => {
  fc.assert(fc.property(numbers, (each) => assert.match(packNumbers(each).slice(3), /^[\w-]*$/)));
});

test('the decimal digits of single-precision numbers survive in four bytes each', () => {
  const vector = Array.from({ length: 1536 }, (_unused, at) => Number(Math.fround(Math.sin(at * 3.7)).toPrecision(7)));
  const packed = packNumbers(vector);
  assert.match(packed, /^f4:/);
  assert.ok(packed.length < vector.length * 5.4);
  assert.deepEqual(unpackNumbers(packed), vector);
});

test('a text that was typed, cut off or made up is not packed numbers', () => {
  for (const text of ['', '0.1, 0.2', 'f4', 'f4:abc', 'f4:!', 'f2:AAAA', 'f8:AAAA', 'f4:AA==']) {
    assert.equal(unpackNumbers(text), undefined, text);
  }
});
