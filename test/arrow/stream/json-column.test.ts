import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { JSON_DEPTH_MAX, jsonTextFault } from '../../../src/arrow/stream/json-column.ts';

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

  test('may use the words that the engine knows beyond the standard', () => {
    for (const text of ['NaN', '[Infinity, -Infinity]', 'True', '', '  ']) assert.equal(fault(text), undefined);
  });

  test('is refused when a quote, escape or comment could hide brackets from the scan', () => {
    for (const text of [`['"', ${'['.repeat(200)}`, '[/*"*/[', '[`"`', '[\\"[', '#"\n[']) {
      assert.match(fault(text) ?? '', /not JSON/);
    }
  });

  test('is refused when it closes what it did not open', () => {
    assert.match(fault(`${']'.repeat(500)}${'['.repeat(500)}`) ?? '', /closes more brackets/);
  });

  test('hides nothing behind an unfinished string', () => {
    assert.equal(fault(`"${'['.repeat(500)}`), undefined);
    assert.equal(fault('"\\'), undefined);
  });
});
