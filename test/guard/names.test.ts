import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { guardNewBranchName, guardTagName, checkIndexName } from '../../src/guard/names.ts';
import { refusalOf } from '../support/refusal.ts';

const BAD_SEGMENTS = ['', '.', '..', 'a..b', '.hidden', 'a.', 'x.lock', 'a b', 'é', 'a\n', 'a\\b', 'a:b', '%2e', 'a\0'];

test('takes tags of letters, digits, dots, dashes and underscores', () => {
  for (const name of ['v1', 'v1.2.3', '-', '_', 'main', 'release-2026_01', 'A'.repeat(200)]) {
    assert.equal(guardTagName(name), name);
  }
});

test('refuses every other name for a tag', () => {
  for (const name of [...BAD_SEGMENTS, 'a/b', '../x', 'a'.repeat(201)]) {
    assert.match(refusalOf(() => guardTagName(name)).message, /valid tag name/);
  }
});

test('takes branches in parts', () => {
  for (const name of ['trial', 'team/feature-1', 'a/b/c', 'main', 'v1.2']) assert.equal(guardNewBranchName(name), name);
});

test('refuses a branch with an invalid part at any position', () => {
  for (const bad of BAD_SEGMENTS) {
    for (const name of [bad, `${bad}/x`, `x/${bad}`, `x/${bad}/y`]) {
      assert.match(refusalOf(() => guardNewBranchName(name)).message, /valid branch name/);
    }
  }
  assert.match(refusalOf(() => guardNewBranchName('a'.repeat(201))).message, /valid branch name/);
});

test('refuses a branch that would lie in a folder of the storage', () => {
  for (const name of ['_versions', 'b/data', 'b/_indices/c', 'tree', '_refs/branches']) {
    assert.match(refusalOf(() => guardNewBranchName(name)).message, /valid branch name/);
  }
});

test('no name that passes leaves its folder', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 12 }), (name) => {
      for (const guard of [guardTagName, guardNewBranchName]) {
        let passed: string;
        try {
          passed = guard(name);
        } catch {
          continue;
        }
        assert.match(passed, /^[\w.-]+(?:\/[\w.-]+)*$/);
        assert.ok(!passed.split('/').some((part) => part === '.' || part === '..'));
      }
    }),
    { numRuns: 2000 },
  );
});

test('accepts an index name that is valid in a URL, even with the delimiter of tables', () => {
  for (const name of ['vec_idx', 'st.n_idx', 'a b', 'é', 'a$b', 'a:b']) checkIndexName(name);
});

test('a name that cannot, or that belongs to the engine, is refused', () => {
  for (const name of ['', '.', '..', 'a/b', 'a%b', 'a?b', 'a#b', 'a\\b', 'a\nb', '\u202ea', 'x'.repeat(256)]) {
    assert.equal(refusalOf(() => checkIndexName(name)).kind, 'InvalidInput', JSON.stringify(name));
  }
  assert.match(refusalOf(() => checkIndexName('__lance_mem_wal')).message, /reserved/);
});
