import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Commit, CommitKind } from '../../../src/model/table.ts';
import { judge, rebuildFields } from '../../../src/writes/recovery/verify.ts';
import type { Expectation } from '../../../src/writes/journal-entries.ts';
import type { Verdict } from '../../../src/writes/recovery/verify.ts';

const BASE = 7;
const APPEND: Expectation = { kinds: ['append'], addedRows: 3, rule: { from: 'nothing' } };
const UPDATE: Expectation = { kinds: ['update'], rule: { from: 'added-rows', names: ['updated_rows'] } };

type CommitFacts = Partial<Commit> & { readonly kind: CommitKind };

/** Commits right after the base version, each of which has read the one before, unless it says otherwise. */
function history(...commits: readonly CommitFacts[]): readonly Commit[] {
  const base = toCommit(BASE, { kind: 'overwrite', addedRows: 10, rows: 10 });
  return [base, ...commits.map((facts, index) => toCommit(BASE + 1 + index, facts))];
}

function toCommit(version: number, facts: CommitFacts): Commit {
  const nothing = { restoredVersion: undefined, transactionId: undefined, addedRows: undefined, rows: undefined };
  return { version, readVersion: version - 1, ...nothing, ...facts };
}

function verdictOf(commits: readonly Commit[], expected: Expectation, boundVersion?: number): string {
  return shown(judge(commits, { baseVersion: BASE, boundVersion }, expected));
}

function shown(verdict: Verdict): string {
  return verdict.kind === 'committed' ? `committed as ${verdict.commit.version}` : verdict.kind;
}

const append = (addedRows: number | undefined, facts: Partial<Commit> = {}): CommitFacts => ({
  kind: 'append',
  addedRows,
  ...facts,
});

suite('whether a write was committed', () => {
  test('nothing after the base version: not committed', () => {
    assert.equal(verdictOf(history(), APPEND), 'not-committed');
    assert.equal(verdictOf([], APPEND), 'not-committed');
  });

  test('one commit of its kind and its rows: committed', () => {
    assert.equal(verdictOf(history(append(3)), APPEND), 'committed as 8');
  });

  test('the rows before it are those of the version before', () => {
    const commits = history({ kind: 'rewrite', rows: 10 }, append(3, { rows: 13, readVersion: BASE }));
    const verdict = judge(commits, { baseVersion: BASE, boundVersion: undefined }, APPEND);
    assert.ok(verdict.kind === 'committed');
    assert.deepEqual([verdict.commit.version, verdict.rowsBefore], [9, 10]);
  });

  test('maintenance and other kinds of commits do not count', () => {
    assert.equal(
      verdictOf(history({ kind: 'reserve' }, { kind: 'rewrite' }, { kind: 'index' }), APPEND),
      'not-committed',
    );
    assert.equal(verdictOf(history({ kind: 'update' }, { kind: 'other' }), APPEND), 'not-committed');
    assert.equal(verdictOf(history({ kind: 'index' }, append(3), { kind: 'rewrite' }), APPEND), 'committed as 9');
  });

  test('a commit of another row count on the base version is an external writer’s', () => {
    assert.equal(verdictOf(history(append(4)), APPEND), 'not-committed');
    assert.equal(verdictOf(history(append(4), append(3, { readVersion: BASE })), APPEND), 'committed as 9');
  });

  test('a commit with another row count on a later version cannot be distinguished from a retried one: unknown', () => {
    assert.equal(verdictOf(history({ kind: 'delete' }, append(4)), APPEND), 'unknown');
  });

  test('a commit that had read an earlier version is an external writer’s', () => {
    assert.equal(verdictOf(history(append(3, { readVersion: BASE - 1 })), APPEND), 'not-committed');
  });

  test('two commits that can both be meant: unknown', () => {
    assert.equal(verdictOf(history(append(3), append(3)), APPEND), 'unknown');
    assert.equal(verdictOf(history({ kind: 'update' }, { kind: 'update' }), UPDATE), 'unknown');
  });

  test('a commit whose transaction cannot be read: unknown, alone or beside one that fits', () => {
    assert.equal(verdictOf(history({ kind: 'unknown', readVersion: 0 }), APPEND), 'unknown');
    assert.equal(verdictOf(history(append(3), { kind: 'unknown', readVersion: 0 }), APPEND), 'unknown');
  });

  test('row counts that neither the write nor the commit contains are not compared', () => {
    assert.equal(verdictOf(history({ kind: 'update', addedRows: 5 }), UPDATE), 'committed as 8');
    assert.equal(verdictOf(history(append(undefined)), APPEND), 'committed as 8');
  });

  test('a restore of its base version, or of the version before it, took it back: not committed', () => {
    const restore = (restoredVersion: number) => ({ kind: 'restore', restoredVersion }) as const;
    assert.equal(verdictOf(history(append(3), restore(BASE)), APPEND), 'not-committed');
    const retried = [{ kind: 'delete' }, append(3)] as const;
    assert.equal(verdictOf(history(...retried, restore(BASE + 1)), APPEND), 'not-committed');
  });

  test('a restore of an older version is another program’s: it was committed', () => {
    assert.equal(verdictOf(history(append(3), { kind: 'restore', restoredVersion: 5 }), APPEND), 'committed as 8');
  });

  test('a restore before its commit did not take it back', () => {
    const restore = { kind: 'restore', restoredVersion: BASE } as const;
    assert.equal(verdictOf(history(restore, append(3)), APPEND), 'committed as 9');
  });

  test('a restore itself is found by its kind, and is not taken for its own undoing', () => {
    const expected: Expectation = { kinds: ['restore'], rule: { from: 'nothing' } };
    assert.equal(verdictOf(history({ kind: 'restore', restoredVersion: BASE }), expected), 'committed as 8');
  });

  test('commits after the version that bounds it are those of later writes', () => {
    assert.equal(verdictOf(history({ kind: 'index' }, append(3)), APPEND, 8), 'not-committed');
    assert.equal(verdictOf(history(append(3), append(3)), APPEND, 8), 'committed as 8');
    assert.equal(verdictOf(history(append(3)), APPEND, BASE), 'not-committed');
    const restore = { kind: 'restore', restoredVersion: BASE } as const;
    assert.equal(verdictOf(history(append(3), restore), APPEND, 8), 'committed as 8');
  });

  test('an overwrite that follows later writes is distinguished from theirs by the version that it read', () => {
    const overwrite: Expectation = { kinds: ['overwrite'], addedRows: 3, rule: { from: 'nothing' } };
    const fence: CommitFacts = { kind: 'restore', restoredVersion: BASE };
    const late = (readVersion: number) => history(fence, append(1), { kind: 'overwrite', addedRows: 3, readVersion });
    assert.equal(verdictOf(late(BASE), overwrite, BASE + 1), 'committed as 10');
    assert.equal(verdictOf(late(BASE + 2), overwrite, BASE + 1), 'not-committed');
    // Without a fence in between, another write may have the same base version.
    assert.equal(verdictOf(late(BASE), overwrite, BASE), 'not-committed');
    assert.equal(
      verdictOf(history(fence, append(1), append(3, { readVersion: BASE })), APPEND, BASE + 1),
      'not-committed',
    );
  });

  test('any of the kinds that a merge can be', () => {
    const merge: Expectation = { kinds: ['update', 'append', 'delete'], rule: { from: 'upsert' } };
    for (const kind of merge.kinds) assert.equal(verdictOf(history({ kind }), merge), 'committed as 8');
    assert.equal(verdictOf(history({ kind: 'merge' }), merge), 'not-committed');
  });
});

suite('the fields of a reply that was lost', () => {
  const commit = { addedRows: 3, rows: 12 };

  test('are those that were known before the commit', () => {
    assert.deepEqual(rebuildFields({ from: 'values', fields: { num_inserted_rows: 2 } }, commit, 10), {
      num_inserted_rows: 2,
    });
  });

  test('are the rows that the commit wrote', () => {
    const rule = { from: 'added-rows', names: ['updated_rows', 'rows_updated'] } as const;
    assert.deepEqual(rebuildFields(rule, commit, undefined), { updated_rows: 3, rows_updated: 3 });
    assert.deepEqual(rebuildFields(rule, { ...commit, addedRows: undefined }, 10), {});
    assert.deepEqual(rebuildFields(rule, { ...commit, addedRows: 0 }, 10), { updated_rows: 0, rows_updated: 0 });
  });

  test('are the rows that are gone', () => {
    const rule = { from: 'removed-rows', names: ['num_deleted_rows'] } as const;
    assert.deepEqual(rebuildFields(rule, { addedRows: 0, rows: 6 }, 10), { num_deleted_rows: 4 });
    assert.deepEqual(rebuildFields(rule, { addedRows: 0, rows: 10 }, 10), { num_deleted_rows: 0 });
    assert.deepEqual(rebuildFields(rule, { addedRows: 0, rows: undefined }, 10), {});
    assert.deepEqual(rebuildFields(rule, { addedRows: 0, rows: 6 }, undefined), {});
  });

  test('are the rows that an upsert inserted and updated', () => {
    assert.deepEqual(rebuildFields({ from: 'upsert' }, commit, 10), {
      num_inserted_rows: 2,
      num_updated_rows: 1,
      num_deleted_rows: 0,
      num_attempts: 1,
      num_rows: 3,
    });
    assert.deepEqual(rebuildFields({ from: 'upsert' }, { ...commit, addedRows: undefined }, 10), {});
    assert.deepEqual(rebuildFields({ from: 'upsert' }, commit, undefined), {});
  });

  test('are none where the reply has none', () => {
    assert.deepEqual(rebuildFields({ from: 'nothing' }, commit, 10), {});
  });
});
