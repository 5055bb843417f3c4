import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { findLanded } from '../../src/engine/landed-write.ts';
import type { Commit, CommitKind } from '../../src/model/commit.ts';

suite('the commit of a write that a crash cut short', () => {
  const history = (...kinds: readonly CommitKind[]): readonly Commit[] =>
    kinds.map((kind, index) => ({
      version: 8 + index,
      kind,
      readVersion: 7 + index,
      restoredVersion: kind === 'restore' ? 7 : undefined,
      transactionId: undefined,
      addedRows: 0,
      rows: 0,
    }));
  const landed = (kinds: readonly CommitKind[], upTo = Infinity): number | undefined =>
    findLanded(history(...kinds), { after: 7, upTo, kinds: ['append', 'overwrite'] });

  test('is the first that is not maintenance', () => {
    assert.equal(landed([]), undefined);
    assert.equal(landed(['append']), 8);
    assert.equal(landed(['reserve', 'rewrite', 'append', 'index']), 10);
    assert.equal(landed(['reserve', 'rewrite', 'index']), undefined);
  });

  test('is of its own kind', () => {
    assert.equal(landed(['update']), undefined);
    assert.equal(landed(['other', 'append']), undefined);
  });

  test('is not that of the next write', () => {
    assert.equal(landed(['index', 'append'], 8), undefined);
    assert.equal(landed(['append', 'update'], 8), 8);
  });

  test('is the last of several of a long insert', () => {
    assert.equal(landed(['append', 'index', 'append', 'update']), 10);
    assert.equal(landed(['overwrite', 'append']), 9);
  });

  test('is none when it was taken back', () => {
    assert.equal(landed(['append', 'append', 'restore']), undefined);
  });

  test('is not that of a program that had read an earlier version', () => {
    const [commit] = history('append');
    assert.ok(commit);
    assert.equal(
      findLanded([{ ...commit, readVersion: 6 }], { after: 7, upTo: Infinity, kinds: ['append'] }),
      undefined,
    );
  });
});
