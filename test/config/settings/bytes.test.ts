import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { formatBytes, parseBytes } from '../../../src/config/settings/setting-types.ts';

test('reads plain bytes and binary units', () => {
  assert.equal(parseBytes('0'), 0);
  assert.equal(parseBytes('65536'), 65_536);
  assert.equal(parseBytes('12B'), 12);
  assert.equal(parseBytes('64KiB'), 65_536);
  assert.equal(parseBytes('64 mib'), 67_108_864);
  assert.equal(parseBytes('4GiB'), 4_294_967_296);
  assert.equal(parseBytes('1TiB'), 1_099_511_627_776);
});

test('refuses what is not a size', () => {
  for (const text of ['', 'MiB', '-1', '1.5GiB', '64MB', '64M', '64Mi', '0x10', '1e3', '9007199254740993', '9PiB']) {
    assert.equal(parseBytes(text), undefined, text);
  }
});

test('writes every size so that it is read back the same', () => {
  fc.assert(fc.property(fc.maxSafeNat(), (value) => parseBytes(formatBytes(value)) === value));
  fc.assert(
    fc.property(
      fc.nat(1023),
      fc.nat(4),
      (count, power) => parseBytes(formatBytes(count * 1024 ** power)) === count * 1024 ** power,
    ),
  );
});

test('writes the largest unit that divides a size', () => {
  assert.deepEqual([0, 1, 1024, 1536, 16_777_216, 4_294_967_296].map(formatBytes), [
    '0',
    '1',
    '1KiB',
    '1536',
    '16MiB',
    '4GiB',
  ]);
});
