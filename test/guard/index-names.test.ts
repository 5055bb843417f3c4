import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkIndexName } from '../../src/guard/index-names.ts';
import { refusalOf } from '../support/refusal.ts';

test('a name that can stand in an address passes, with or without the delimiter of tables', () => {
  for (const name of ['vec_idx', 'st.n_idx', 'a b', 'é', 'a$b', 'a:b']) checkIndexName(name);
});

test('a name that cannot, or that belongs to the engine, is refused', () => {
  for (const name of ['', '.', '..', 'a/b', 'a%b', 'a?b', 'a#b', 'a\\b', 'a\nb', '\u202ea', 'x'.repeat(256)]) {
    assert.equal(refusalOf(() => checkIndexName(name)).kind, 'InvalidInput', JSON.stringify(name));
  }
  assert.match(refusalOf(() => checkIndexName('__lance_mem_wal')).message, /reserved/);
});
