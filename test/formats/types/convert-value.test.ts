import assert from 'node:assert/strict';
import { test } from 'node:test';
import { blobInput } from '../../../src/formats/input.ts';
import { openReader } from '../../../src/formats/open-reader.ts';
import { converterFor } from '../../../src/formats/types/convert-value.ts';
import { parseType } from '../../../src/formats/types/type-text.ts';

const convert = (type: string, value: unknown): unknown => converterFor(parseType(type))(value);

const INT64_MAX = 9_223_372_036_854_775_807n;

test('counts of time that do not fit their type are refused', () => {
  for (const [type, value] of [
    ['timestamp[ns]', '9999-12-31'],
    ['timestamp[ns]', '2262-04-11T23:47:16.854775808Z'],
    ['timestamp[ns]', '1677-09-21T00:12:43.145224191Z'],
    ['timestamp[us]', String(INT64_MAX + 1n)],
    ['duration[s]', String(INT64_MAX + 1n)],
    ['time64[us]', 1e19],
    ['time32[s]', 99_999_999_999],
    ['date32', 100_000_000_000],
    ['date64', 9_007_199_254_740_991],
  ] as const) {
    const refusal = new RegExp(`is "${value}"; expected a value in the range of ${type.replaceAll(/\W/g, '\\$&')}$`);
    assert.throws(() => convert(type, value), refusal);
  }
});

test('the first and last counts of time that fit are kept', () => {
  assert.equal(convert('timestamp[ns]', '2262-04-11T23:47:16.854775807Z'), INT64_MAX);
  assert.equal(convert('timestamp[ns]', '1677-09-21T00:12:43.145224192Z'), -INT64_MAX - 1n);
  assert.equal(convert('timestamp[us]', '9999-12-31'), 253_402_214_400_000_000n);
  assert.equal(convert('duration[s]', String(INT64_MAX)), INT64_MAX);
  assert.equal(convert('date32', -2_147_483_648), -2_147_483_648n);
  assert.equal(convert('time32[ms]', '23:59:59.999'), 86_399_999n);
});

test('a finite number does not become infinite', () => {
  assert.throws(() => convert('float32', 1e39), /is "1e\+39"; expected a number in the range of float32/);
  assert.throws(() => convert('float32', '-1e39'), /in the range of float32/);
  assert.throws(() => convert('float16', 70_000), /in the range of float16/);
  assert.throws(() => convert('float64', '1e400'), /expected a number/);
  assert.throws(() => convert('float32[2]', [1, 1e39]), /in the range of float32/);
  assert.equal(convert('float32', 3.4028235e38), 3.4028235e38);
  assert.equal(convert('float16', 65_504), 65_504);
  assert.equal(convert('float32', '-inf'), -Infinity);
  assert.equal(convert('float32', Infinity), Infinity);
});

test('a decimal in hundreds loses no digits', () => {
  assert.equal(convert('decimal128(5, -2)', '1200'), 12n);
  assert.throws(() => convert('decimal128(5, -2)', '1234'), /expected a multiple of 100 with at most 7 digits/);
});

test('16 bytes are also read from a UUID', () => {
  const bytes = Uint8Array.from({ length: 16 }, (_unused, index) => 17 * index);
  assert.deepEqual(convert('binary[16]', '00112233-4455-6677-8899-aabbccddeeff'), bytes);
  assert.deepEqual(convert('binary[16]', ' 00112233-4455-6677-8899-AABBCCDDEEFF'), bytes);
  assert.deepEqual(convert('binary[16]', 'ABEiM0RVZneImaq7zN3u/w=='), bytes);
  for (const other of ['00112233-4455-6677-8899-aabbccddeef', '00112233445566778899aabbccddeeff', 'AAA=']) {
    assert.throws(() => convert('binary[16]', other), /expected (?:16 )?bytes in base64, or a UUID$/);
  }
  assert.throws(() => convert('binary[15]', '00112233-4455-6677-8899-aabbccddeeff'), /expected bytes in base64$/);
});

async function typeOf(...cells: readonly string[]): Promise<string | undefined> {
  const { columns } = await openReader(blobInput(new Blob([`at\n${cells.join('\n')}\n`])), { format: 'csv' });
  return columns[0]?.type;
}

test('timestamps with nanoseconds get a type that all of the first rows fit', async () => {
  assert.equal(await typeOf('2024-05-06T07:08:09.123456789', '2024-05-06'), 'timestamp[ns]');
  assert.equal(await typeOf('2024-05-06T07:08:09.123456000', '9999-12-31T00:00:00'), 'timestamp[us]');
  assert.equal(await typeOf('2024-05-06T07:08:09.123456000', '9999-12-31'), 'timestamp[us]');
  assert.equal(await typeOf('2024-05-06T07:08:09.123456789', '9999-12-31T00:00:00'), 'utf8');
});
