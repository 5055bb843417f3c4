import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { JSON_DEPTH_MAX, jsonTextFault } from '../../../src/arrow/format/json-text.ts';

function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

const fault = (text: string): string | undefined => jsonTextFault(Buffer.from(text));

describe('JSON text', () => {
  test('is accepted whenever it is JSON of ordinary depth', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 12 }), fc.constantFrom(0, 1, '\t'), (value, space) => {
        assert.equal(fault(JSON.stringify(value, null, space)), undefined);
      }),
    );
  });

  test('is refused exactly beyond the greatest depth, whatever its strings hold', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 2 * JSON_DEPTH_MAX }), fc.string(), (depth, text) => {
        let value: unknown = text;
        for (let level = 0; level < depth; level += 1)
          value = level % 2 === 0 ? [text, value] : { [text]: text, [`${text}_`]: value };
        assert.equal(depthOf(value), depth);
        assert.equal(fault(JSON.stringify(value)) !== undefined, depth > JSON_DEPTH_MAX);
      }),
    );
  });

  test('may use the words that the engine knows beyond the standard, and be empty', () => {
    for (const text of ['NaN', '[Infinity, -Infinity]', 'True', '', '  ', '"a\nb"', '[+1, 01, .5, 1.]']) {
      assert.equal(fault(text), undefined, text);
    }
  });

  const refused: readonly (readonly [string, RegExp])[] = [
    ['{', /expected a key in double quotes, found the end/],
    ['[1, 2', /expected a comma or \], found the end/],
    ['{"a": 1', /expected a comma or }, found the end/],
    ['tru', /expected a value, found "tru" at byte 0/],
    ['{"a": tru}', /expected a value, found "tru" at byte 6/],
    ['1 2', /expected the end, found "2" at byte 2/],
    ['{"a" 1}', /expected a colon, found "1" at byte 5/],
    ['{a: 1}', /expected a key in double quotes, found "a" at byte 1/],
    ['[1,]', /expected a value, found "\]" at byte 3/],
    ['[1}', /expected a comma or \], found "}" at byte 2/],
    [']', /expected a value, found "\]" at byte 0/],
    ["['a']", /expected a value, found "'" at byte 1/],
    ['[/*"*/1]', /expected a value, found "\/" at byte 1/],
    ['"abc', /ends inside a string/],
    ['"abc\\', /ends inside a string/],
    ['"\\x"', /"\\\\x" is not an escape sequence/],
    ['"\\u00zz"', /is not an escape sequence/],
    ['"\\ud800"', /unpaired surrogate/],
    ['1e999', /"1e999", which is too large/],
    ['0x1F', /expected a value, found "0x1F" at byte 0/],
    ['{"a": 1, "a": 2}', /the key "a" more than once/],
    ['{"a": 1, "\\u0061": 2}', /the key "a" more than once/],
    ['[{"b": {"a": 1, "c": 2, "a": 2}}]', /the key "a" more than once/],
  ];
  for (const [text, says] of refused) {
    test(`is refused when it is not JSON, or not to be stored: ${text}`, () => assert.match(fault(text) ?? '', says));
  }

  test('may have the same key in several objects, and keys that differ in an escape only', () => {
    for (const text of ['[{"a": 1}, {"a": {"a": 1}}]', '{"n": 1, "\\n": 2, "\\\\n": 3}'])
      assert.equal(fault(text), undefined);
  });
});
