import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ArrayElements } from '../../../src/formats/json/array-elements.ts';

const refuse = (line: number, what: string): never => assert.fail(`Line ${line} ${what}`);

test('objects are cut out of an array as they are, wherever its text is divided', () => {
  const objects = fc.array(fc.dictionary(fc.string(), fc.jsonValue()));
  const sizes = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 });
  fc.assert(
    fc.property(objects, sizes, fc.constantFrom(0, 2), (values, lengths, indent) => {
      const text = ` ${JSON.stringify(values, undefined, indent)}\n`;
      const elements = new ArrayElements(refuse);
      const found = [];
      for (let at = 0, turn = 0; at < text.length; turn += 1) {
        const length = lengths[turn % lengths.length] ?? 1;
        found.push(...elements.add(text.slice(at, at + length)));
        at += length;
      }
      elements.end();
      assert.deepEqual(
        found.map(({ source }) => JSON.parse(source) as unknown),
        JSON.parse(JSON.stringify(values)),
      );
      for (const { line, source } of found) {
        assert.ok(text.split('\n')[line - 1]?.includes(source.split('\n')[0] ?? ''), `line ${line}: ${source}`);
      }
    }),
  );
});
