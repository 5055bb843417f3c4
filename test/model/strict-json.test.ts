import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ServiceError } from '../../src/errors/service-error.ts';
import { parseStrictJson } from '../../src/model/strict-json.ts';
import { refusalOf } from '../support/refusal.ts';

const MiB = 1024 * 1024;

function parse(text: string, depthMax = 64): unknown {
  return parseStrictJson(Buffer.from(text), { depthMax });
}

function refusedText(text: string): string {
  const refusal = refusalOf(() => parse(text));
  assert.equal(refusal.kind, 'InvalidInput');
  return refusal.message;
}

/** Keys that JSON readers disagree on have tests of their own. */
const jsonValue = fc
  .jsonValue({ maxDepth: 6, stringUnit: 'binary' })
  .filter((value) => !JSON.stringify(value).includes('__proto__'));

test('reads every JSON value as it was written', () => {
  fc.assert(
    fc.property(jsonValue, fc.constantFrom(undefined, 1, '\t'), (value, indent) => {
      const text = JSON.stringify(value, undefined, indent);
      assert.deepEqual(parse(text), JSON.parse(text));
    }),
  );
});

test('reads texts with every escape as the same texts', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (value) => {
      const escaped = [...value].flatMap((character) => character.split('')).map(escape);
      assert.equal(parse(`"${escaped.join('')}"`), value);
    }),
  );
});

test('refuses every text that is not JSON, always with a ServiceError', () => {
  const piece = fc.constantFrom(
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    '"',
    '\\',
    'a',
    '1',
    '-',
    'null',
    '\\u00',
    ' ',
    '\u00a0',
    '',
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
      const text = pieces.join('');
      const expected = outcome(() => JSON.parse(text));
      const actual = outcome(() => parse(text));
      if ('thrown' in expected) assert.ok('thrown' in actual && actual.thrown instanceof ServiceError);
      else if (!('thrown' in actual)) assert.deepEqual(actual, expected);
      else assert.match(String(actual.thrown), /given twice/);
    }),
    { numRuns: 2000 },
  );
});

test('refuses a JSON text that is cut off anywhere', () => {
  const text = '{"a":[1,{"b":"\\u0041\\"c"}],"d":null}';
  assert.deepEqual(parse(text), JSON.parse(text));
  for (let length = 0; length < text.length; length += 1) refusedText(text.slice(0, length));
});

test('never quotes a body that is not JSON', () => {
  assert.equal(refusedText('{"secret": hunter2}'), 'The body is not valid JSON.');
});

test('refuses a key given twice in one object', () => {
  assert.equal(refusedText('{"a":1,"a":1}'), 'The key "a" is given twice.');
  assert.equal(refusedText('[{"b":{"a":1 , "c":{}, "a" \n:2}}]'), 'The key "a" is given twice.');
  assert.equal(refusedText('{"":1,"":2}'), 'The key "" is given twice.');
});

test('takes the same key in different objects, and keys as values', () => {
  const text = '{"a":{"a":[{"a":"a"},{"a":"a"}]},"b":"a","c":["a","a"]}';
  assert.deepEqual(parse(text), JSON.parse(text));
});

test('compares keys by what they say, not by how they are written', () => {
  assert.equal(refusedText('{"a":1,"\\u0061":2}'), 'The key "a" is given twice.');
  assert.equal(refusedText('{"\\ud83d\\ude00":1,"😀":2}'), 'The key "😀" is given twice.');
  assert.equal(refusedText('{"/":1,"\\/":2}'), 'The key "/" is given twice.');
});

test('refuses the key __proto__ however it is written', () => {
  for (const key of ['__proto__', '\\u005f_proto__', '__prot\\u006f__']) {
    assert.equal(refusedText(`{"x":[{"${key}":{"polluted":true}}]}`), 'The key "__proto__" is not allowed.');
  }
  assert.deepEqual(parse('{"a":"__proto__","constructor":1}'), { a: '__proto__', constructor: 1 });
});

test('takes the deepest nest that is allowed, and none deeper', () => {
  assert.deepEqual(parse('[{"a":[1]}]', 3), [{ a: [1] }]);
  assert.equal(refusalOf(() => parse('[{"a":[[1]]}]', 3)).message, 'The body is nested more than 3 levels deep.');
  assert.deepEqual(parse('[[],[],[[]],"[[[["]', 3), [[], [], [[]], '[[[[']);
});

test('refuses a nest of 400,000 levels without reading all of it', () => {
  const levels = 400_000;
  assert.match(refusedText('['.repeat(levels) + ']'.repeat(levels)), /nested more than 64 levels deep/);
  assert.match(refusedText('{"a":'.repeat(levels) + '1' + '}'.repeat(levels)), /nested more than 64 levels deep/);
});

test('refuses bytes that are no UTF-8', () => {
  const wrong = ['c3', 'ff', 'c0af', 'eda080', 'f4908080', '80', 'e282'].map((hex) => Buffer.from(hex, 'hex'));
  for (const bytes of wrong) {
    const body = Buffer.concat([Buffer.from('{"a":"'), bytes, Buffer.from('"}')]);
    assert.equal(refusalOf(() => parseStrictJson(body, { depthMax: 64 })).message, 'The body is not valid UTF-8.');
  }
  assert.equal(refusalOf(() => parseStrictJson(Buffer.from('{}', 'utf16le'), { depthMax: 64 })).kind, 'InvalidInput');
});

test('reads past one byte order mark, and refuses a second', () => {
  assert.deepEqual(parse('\uFEFF{"a":1}'), { a: 1 });
  refusedText('\uFEFF\uFEFF{"a":1}');
});

test('refuses half of a surrogate pair in texts and keys', () => {
  for (const text of ['"\\ud83d"', '["x\\ude00y"]', '{"\\ud83d":1}', '{"a":"\\ude00\\ud83d"}']) {
    assert.equal(refusedText(text), 'The body contains an unpaired surrogate.');
  }
  assert.equal(parse('"\\ud83d\\ude00"'), '😀');
  assert.equal(parse('"\\\\ud83d"'), '\\ud83d');
});

test('reads large bodies in time that grows with their length alone', () => {
  const shapes: readonly (readonly [start: string, piece: string, end: string])[] = [
    ['[', '0.125,', '1]'],
    ['[', '"",', '""]'],
    ['["', '\\n', '"]'],
    ['{"a"', ' ', ':1}'],
  ];
  for (const [start, piece, end] of shapes) {
    const body = Buffer.from(start + piece.repeat((16 * MiB) / piece.length) + end);
    const startedAt = performance.now();
    parseStrictJson(body, { depthMax: 64 });
    // A pass takes about a second; were the work quadratic, even the shortest would take hours.
    assert.ok(performance.now() - startedAt < 20_000, piece);
  }
});

test('refuses a body of millions of objects before parsing it', () => {
  for (const piece of ['{},', '[],', '{"a":1},']) {
    assert.match(refusedText(`[${piece.repeat(1_000_001)}1]`), /more than 1,000,000 objects, arrays and keys/);
  }
});

function escape(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

function outcome(action: () => unknown): { readonly value: unknown } | { readonly thrown: unknown } {
  try {
    return { value: action() };
  } catch (thrown) {
    return { thrown };
  }
}
