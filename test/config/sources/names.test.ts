import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { nearNameHint } from '../../../src/config/sources/names.ts';
import { editDistance } from '../../../src/model/field-path.ts';

test('counts insertions, deletions and replacements', () => {
  assert.equal(editDistance('', 'abc'), 3);
  assert.equal(editDistance('abc', ''), 3);
  assert.equal(editDistance('kitten', 'sitting'), 3);
  assert.equal(editDistance('port', 'prot'), 2);
});

test('is a distance: nought only for equals, the same both ways, never longer than a detour', () => {
  const word = fc.string({ maxLength: 8 });
  fc.assert(
    fc.property(word, word, word, (first, second, third) => {
      assert.equal(editDistance(first, second) === 0, first === second);
      assert.equal(editDistance(first, second), editDistance(second, first));
      assert.ok(editDistance(first, third) <= editDistance(first, second) + editDistance(second, third));
    }),
  );
});

test('finds the nearest name in any case, and none that is too different', () => {
  const columns = ['arrow.columnsMax', 'query.columnsMax'];
  assert.equal(nearNameHint('--prot', ['--host', '--port']), ' Did you mean --port?');
  assert.equal(nearNameHint('arrow.columnmax', columns), ' Did you mean arrow.columnsMax?');
  assert.equal(nearNameHint('--colour', ['--host', '--port']), '');
  assert.equal(nearNameHint('--port', []), '');
  assert.equal(nearNameHint('yes', ['key', 'json']), '');
});
