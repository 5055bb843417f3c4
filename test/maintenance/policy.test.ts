import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import type { Condition } from '../../src/engine/engine.ts';
import {
  findMaintenanceReasons,
  findNextHistoryVersion,
  findRetentionCutoff,
  shouldBlockWriters,
} from '../../src/maintenance/policy.ts';
import type { VersionHistory, RecentActivity } from '../../src/maintenance/policy.ts';
import { testLimits } from '../support/limits.ts';

const limits = testLimits().maintenance;
const MiB = 2 ** 20;
const SECOND = 1000;
const NOW = 1_000_000_000_000;

const fresh: Condition = {
  version: 9,
  rows: 10_000,
  bytes: MiB,
  fragments: 1,
  smallFragments: 1,
  deletedRows: 0,
  indexes: [],
};
const active: RecentActivity = { commits: 100, isIdle: false, remaining: undefined };

suite('a table is maintained', () => {
  test('when small fragments, deleted rows or unindexed rows exceed their limit', () => {
    assert.deepEqual(findMaintenanceReasons(fresh, active, limits), []);
    assert.deepEqual(findMaintenanceReasons({ ...fresh, smallFragments: 64 }, active, limits), ['fragments']);
    assert.deepEqual(findMaintenanceReasons({ ...fresh, deletedRows: 1200 }, active, limits), ['deletions']);
    const indexes = [{ name: 'id_idx', unindexedRows: 1001 }];
    assert.deepEqual(findMaintenanceReasons({ ...fresh, indexes }, active, limits), ['index']);
  });

  test('not for a few rows', () => {
    const small = { ...fresh, rows: 100, deletedRows: 100, indexes: [{ name: 'id_idx', unindexedRows: 100 }] };
    assert.deepEqual(findMaintenanceReasons(small, active, limits), []);
  });

  test('not again for what the last run could not improve', () => {
    const many = { ...fresh, smallFragments: 100 };
    assert.deepEqual(
      findMaintenanceReasons(many, { ...active, remaining: { version: 8, smallFragments: 90 } }, limits),
      [],
    );
    assert.deepEqual(
      findMaintenanceReasons(many, { ...active, remaining: { version: 9, smallFragments: 0 } }, limits),
      [],
    );
    assert.deepEqual(
      findMaintenanceReasons(many, { ...active, remaining: { version: 8, smallFragments: 36 } }, limits),
      ['fragments'],
    );
  });

  test('after more commits when it is large, unless it is idle', () => {
    const large = { ...fresh, smallFragments: 100, bytes: 100 * MiB };
    assert.deepEqual(findMaintenanceReasons(large, { ...active, commits: 399 }, limits), []);
    assert.deepEqual(findMaintenanceReasons(large, { ...active, commits: 400 }, limits), ['fragments']);
    assert.deepEqual(findMaintenanceReasons(large, { ...active, commits: 1, isIdle: true }, limits), ['fragments']);
  });
});

/** Writers have updated rows since the last run. */
const UPDATED = { remaining: undefined, lostRuns: 0, onlyAppends: false };

test('writers that only add rows do not wait for a compaction, unless the one before was lost', () => {
  const appended = { ...UPDATED, reasons: ['fragments'] as const, isRemoving: false, onlyAppends: true };
  assert.equal(shouldBlockWriters(fresh, appended, limits), false);
  assert.equal(shouldBlockWriters(fresh, { ...appended, lostRuns: 1 }, limits), true);
});

test('writers wait for the compaction of a small table, and of a larger one after several lost compactions', () => {
  const compaction = { ...UPDATED, reasons: ['fragments'] as const, isRemoving: false };
  assert.equal(shouldBlockWriters(fresh, compaction, limits), true);
  assert.equal(shouldBlockWriters({ ...fresh, bytes: 100 * MiB }, compaction, limits), false);
  assert.equal(shouldBlockWriters({ ...fresh, bytes: 100 * MiB }, { ...compaction, lostRuns: 4 }, limits), true);
  assert.equal(shouldBlockWriters({ ...fresh, bytes: 2000 * MiB }, { ...compaction, lostRuns: 9 }, limits), false);
  assert.equal(shouldBlockWriters(fresh, { ...compaction, reasons: ['index'], lostRuns: 9 }, limits), false);
});

test('writers wait for the compaction before a removal of versions if there are fragments to compact', () => {
  const removal = { ...UPDATED, reasons: [], isRemoving: true };
  const active = { ...fresh, smallFragments: 3 };
  assert.equal(shouldBlockWriters(active, removal, limits), true);
  assert.equal(shouldBlockWriters({ ...fresh, smallFragments: 1 }, removal, limits), false);
  assert.equal(shouldBlockWriters(active, { ...removal, remaining: { version: 1, smallFragments: 2 } }, limits), false);
});

/** Versions 1, 2, 3, … committed so many seconds ago. */
function past(secondsAgo: readonly number[], more: Partial<VersionHistory> = {}): VersionHistory {
  const versions = secondsAgo.map((seconds, index) => ({
    version: index + 1,
    committedAtMilliseconds: NOW - seconds * SECOND,
  }));
  return {
    versions,
    keptFromVersion: Infinity,
    diskBytes: MiB,
    bytes: MiB,
    now: NOW,
    reserveMilliseconds: SECOND,
    ...more,
  };
}

/** The versions that the engine removes for a cutoff. */
function removed({ versions }: VersionHistory, cutoff = 0): readonly number[] {
  return versions.filter((each) => each.committedAtMilliseconds < cutoff).map(({ version }) => version);
}

const brief = { ...limits, retentionSeconds: 100, versionsMin: 1, readerSeconds: 10 };

suite('an old version', () => {
  test('is removed when the retention has passed since the next one replaced it', () => {
    const history = past([500, 400, 300, 99, 0]);
    assert.deepEqual(removed(history, findRetentionCutoff(history, brief)), [1, 2]);
  });

  test('is kept when it was the latest until a moment ago, however old it is', () => {
    const history = past([5000, 1]);
    assert.equal(findRetentionCutoff(history, { ...brief, retentionSeconds: 0 }), undefined);
  });

  test('is kept when it is one of the newest, or when a tag or a reader needs it or one before it', () => {
    const history = past([500, 400, 300, 200, 150]);
    assert.deepEqual(removed(history, findRetentionCutoff(history, { ...brief, versionsMin: 4 })), [1]);
    const pinned = { ...history, keptFromVersion: 3 };
    assert.deepEqual(removed(pinned, findRetentionCutoff(pinned, brief)), [1, 2]);
  });

  test('is removed early when old versions take too much space, until half of the allowed space is left', () => {
    const history = past([90, 80, 70, 60, 50, 40, 30], { diskBytes: 66 * MiB });
    assert.deepEqual(removed(history, findRetentionCutoff(history, brief)), [1, 2, 3, 4]);
    const vast = { ...history, diskBytes: 1000 * MiB };
    assert.deepEqual(removed(vast, findRetentionCutoff(vast, brief)), [1, 2, 3, 4, 5, 6]);
    const small = { ...history, diskBytes: 60 * MiB };
    assert.deepEqual(removed(small, findRetentionCutoff(small, brief)), []);
  });

  test('is removed early when there are too many, however small they are', () => {
    const history = past([90, 80, 70, 60, 50, 40, 30]);
    assert.deepEqual(removed(history, findRetentionCutoff(history, { ...brief, versionsMax: 6 })), [1, 2, 3, 4]);
    assert.deepEqual(removed(history, findRetentionCutoff(history, { ...brief, versionsMax: 7 })), []);
  });

  test('is never removed while it may be read, is pinned, or is one of the newest', () => {
    const histories = fc.record({
      gaps: fc.array(fc.integer({ min: 0, max: 60 }), { minLength: 1, maxLength: 40 }),
      keptFromVersion: fc.oneof(fc.integer({ min: 1, max: 45 }), fc.constant(Infinity)),
      diskBytes: fc.integer({ min: 0, max: 1000 * MiB }),
      retentionSeconds: fc.integer({ min: 0, max: 500 }),
      versionsMin: fc.integer({ min: 1, max: 20 }),
      readerSeconds: fc.integer({ min: 0, max: 100 }),
      versionsMax: fc.integer({ min: 1, max: 50 }),
    });
    fc.assert(
      fc.property(histories, ({ gaps, keptFromVersion, diskBytes, ...bounds }) => {
        const secondsAgo = gaps.map((_, index) => gaps.slice(index).reduce((sum, gap) => sum + gap, 0));
        const history = past(secondsAgo, { keptFromVersion, diskBytes });
        const gone = removed(history, findRetentionCutoff(history, { ...limits, ...bounds }));
        const kept = history.versions.length - gone.length;
        assert.ok(gone.length === 0 || kept >= bounds.versionsMin);
        for (const version of gone) {
          assert.ok(version < keptFromVersion);
          const next = history.versions[version];
          assert.ok(next !== undefined && next.committedAtMilliseconds <= NOW - bounds.readerSeconds * SECOND);
        }
      }),
    );
  });
});

suite('old versions are listed again', () => {
  test('after 256 more', () => {
    assert.equal(findNextHistoryVersion({ version: 0, versions: 0 }), 256);
    assert.equal(findNextHistoryVersion({ version: 5000, versions: 1000 }), 5256);
  });

  test('where many have to stay, so rarely that this costs a commit no more than where few do', () => {
    assert.equal(findNextHistoryVersion({ version: 12_000, versions: 12_000 }), 15_000);
  });
});
