import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createId } from '../../src/catalog/ids.ts';
import { toStorageDirectory } from '../../src/catalog/storage-roots.ts';
import { names } from './names.ts';

const ID = createId(0);

const SLUGS: readonly (readonly [name: string, slug: string])[] = [
  ['orders', 'orders'],
  ['Orders 2024', 'orders-2024'],
  ['Größe', 'gro-e'],
  ['Café', 'cafe'],
  ['../victim', 'victim'],
  ['a.lance', 'a-lance'],
  ['--a--', 'a'],
  ['表', 'table'],
  ['😀', 'table'],
  ['①', '1'],
  [' ', 'table'],
  ['x'.repeat(255), 'x'.repeat(40)],
  [`${'x'.repeat(39)} y`, 'x'.repeat(39)],
];

for (const [name, slug] of SLUGS) {
  test(`the directory of ${JSON.stringify(name.slice(0, 20))} begins with ${slug.slice(0, 20)}`, () => {
    assert.equal(toStorageDirectory(name, ID), `${slug}-${ID}`);
  });
}

test('a directory has only small letters, digits and hyphens, and ends in the id', () => {
  fc.assert(
    fc.property(fc.oneof(names, fc.string({ unit: 'binary' })), (name) => {
      const directory = toStorageDirectory(name, ID);
      assert.match(directory, /^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?-[a-z0-9]{26}$/);
      assert.ok(directory.endsWith(`-${ID}`));
    }),
  );
});
