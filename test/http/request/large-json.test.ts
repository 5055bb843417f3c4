import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ServiceError } from '../../../src/errors/service-error.ts';
import { parseLargeJson } from '../../../src/http/request/large-json.ts';
import { parseStrictJson } from '../../../src/model/strict-json.ts';

const BOUNDS = { depthMax: 8, valuesMax: 2_000_000, keysMax: 10_000 };

const sliceBytes = fc.constantFrom(1, 2, 7, 64, 100_000);

/** The value, or that the text was refused. */
async function outcome(parse: () => unknown): Promise<unknown> {
  try {
    return { value: await parse() };
  } catch (error) {
    assert.ok(error instanceof ServiceError && error.kind === 'InvalidInput', String(error));
    return 'refused';
  }
}

async function assertSame(bytes: Uint8Array, slice?: number): Promise<void> {
  const expected = await outcome(() => parseStrictJson(bytes, BOUNDS));
  assert.deepEqual(await outcome(() => parseLargeJson(bytes, BOUNDS, slice)), expected, Buffer.from(bytes).toString());
}

test('reads every value as the parser of small bodies does, wherever it pauses', async () => {
  const value = fc.jsonValue({ maxDepth: 6, stringUnit: 'binary' });
  await fc.assert(
    fc.asyncProperty(value, fc.constantFrom(undefined, 1, '\t'), sliceBytes, async (given, indent, slice) => {
      await assertSame(Buffer.from(JSON.stringify(given, undefined, indent)), slice);
    }),
    { numRuns: 500 },
  );
});

test('refuses exactly the texts that the parser of small bodies refuses', async () => {
  const piece = fc.constantFrom(
    ...'{|}|[|]|,|:|"|\\|a|1|-|0|.|e5|E+|null|true|false|nul|\\u00|\\ud83d|\\ude00|\\u0041|\\n|"a"|"b":|{"a":1}|[1,2]| '.split(
      '|',
    ),
    ...'\t|\n|\r|\u0000|\u000b|\u00a0|é|😀|"__proto__":|01|-0|1.|.5|1.5|1e400|12345678901234567890|0.1234567890123456|"|"'.split(
      '|',
    ),
    '\ufeff',
  );
  const text = fc.array(piece, { maxLength: 9 }).map((pieces) => pieces.join(''));
  const shaped = fc.oneof(
    text,
    text.map((inner) => `[${inner}]`),
    text.map((inner) => `{"k":${inner}}`),
    text.map((inner) => `"${inner}"`),
    text.map((inner) => `{"a":1,${inner}}`),
  );
  await fc.assert(
    fc.asyncProperty(shaped, sliceBytes, async (given, slice) => assertSame(Buffer.from(given), slice)),
    { numRuns: 6000 },
  );
});

test('reads every number as exactly the same number', async () => {
  const number = fc.oneof(
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.float({ noNaN: true, noDefaultInfinity: true }),
    fc.integer(),
    fc.maxSafeInteger(),
    fc.tuple(fc.integer(), fc.nat(1_000_000)).map(([whole, part]) => Number(`${whole}.${part}`)),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(number, { minLength: 1, maxLength: 50 }), async (numbers) => {
      await assertSame(Buffer.from(`[${numbers.map(String).join()},${numbers.map((each) => each.toFixed(6)).join()}]`));
    }),
    { numRuns: 500 },
  );
  await assertSame(Buffer.from('[-0,0,-0.0,0.000000000000001,999999999999999,9999999999999999,0.1e1,5e-324]'));
});

test('refuses bytes that are not UTF-8, nesting, repeated keys and "__proto__"', async () => {
  for (const text of [
    '"\u00e9',
    '[[[[[[[[1]]]]]]]]',
    '[[[[[[[[[1]]]]]]]]]',
    '{"a":1,"a":2}',
    '{"\\u0061":1,"a":2}',
    '{"__proto__":1}',
    '{"constructor":1,"toString":2}',
    '"\\ud83d"',
    '"\\ud83d\\ude00"',
  ]) {
    await assertSame(Buffer.from(text));
  }
  await assertSame(Buffer.from('"é"', 'latin1'));
});

test('puts the pieces of a long text together', async () => {
  for (const unit of ['a', 'é', '日', '😀', '\\u0041', '\\ud83d\\ude00', 'ab\\n', 'x\\"y']) {
    for (const lead of ['', 'x', 'xy', 'xyz', 'xyzuv']) {
      await assertSame(Buffer.from(JSON.stringify([1]).replace('1', `"${lead}${unit.repeat(60_000)}"`)));
    }
  }
  await assertSame(Buffer.from(`"${'a'.repeat(65_533)}\\ud83d${'a'.repeat(70_000)}"`));
});

test('bounds the values of a body and the keys of an object', async () => {
  const refused = async (text: string): Promise<string> => {
    const error = await parseLargeJson(Buffer.from(text), { ...BOUNDS, valuesMax: 100, keysMax: 10 }).catch(
      (reason: unknown) => reason,
    );
    return error instanceof ServiceError ? error.message : 'passed';
  };
  assert.equal(await refused(`[${Array(99).fill('1').join()}]`), 'passed');
  assert.equal(await refused(`[${Array(100).fill('1').join()},1]`), 'The body has more than 100 values.');
  assert.equal(await refused(`[${Array(100).fill('{}').join()},{}]`), 'The body has more than 100 values.');
  const keys = (count: number): string => `{${Array.from({ length: count }, (_, key) => `"${key}":1`).join()}}`;
  assert.equal(await refused(keys(10)), 'passed');
  assert.equal(await refused(keys(11)), 'The body has an object with more than 10 keys.');
});

test('lets others run while it parses', async () => {
  let turns = 0;
  let isDone = false;
  const count = (): void => {
    turns += 1;
    if (!isDone) setImmediate(count);
  };
  setImmediate(count);
  const body = Buffer.from(`{"vector":[${'0.125,'.repeat(1_000_000)}1]}`);
  await parseLargeJson(body, BOUNDS);
  isDone = true;
  assert.ok(turns >= 20, `${turns} turns`);
});
