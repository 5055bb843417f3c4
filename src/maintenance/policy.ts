import type { Condition, Engine } from '../engine/engine.ts';
import type { MaintenanceLimits } from '../model/limits.ts';
import type { Reason, TableActivity } from './table-activity.ts';

/** Below this many rows neither deletions nor a missing index matter. */
const ROWS_MIN = 256;

export interface RecentActivity extends Readonly<Pick<TableActivity, 'commits' | 'remaining'>> {
  readonly isIdle: boolean;
}

export function findMaintenanceReasons(
  condition: Condition,
  { commits, isIdle, remaining }: RecentActivity,
  limits: MaintenanceLimits,
): readonly Reason[] {
  const { version, rows, deletedRows, bytes, smallFragments, indexes } = condition;
  // Amortize: compact once commits × rewriteBytesPerCommit ≥ table size, or the table is idle.
  const isWorthwhile = isIdle || commits === undefined || commits * limits.rewriteBytesPerCommit >= bytes;
  if (version === remaining?.version || !isWorthwhile) return [];
  const allRows = rows + deletedRows;
  const isUnindexed = (unindexedRows: number): boolean =>
    unindexedRows >= ROWS_MIN && unindexedRows * 100 > rows * limits.unindexedPercentMax;
  const reasons: readonly (readonly [Reason, boolean])[] = [
    ['fragments', smallFragments - (remaining?.smallFragments ?? 0) >= limits.smallFragmentsMax],
    ['deletions', allRows >= ROWS_MIN && deletedRows * 100 > allRows * limits.deletedPercentMax],
    ['index', indexes.some(({ unindexedRows }) => isUnindexed(unindexedRows))],
  ];
  return reasons.filter(([, applies]) => applies).map(([reason]) => reason);
}

/** A compaction that does not block writers is lost if one commits first; after so many losses, it blocks them. */
const LOST_RUNS_MAX = 4;

/** Above this multiple of `blockingBytesMax`, writers would be blocked for too long: compact only when idle. */
const BLOCKING_STRETCH_MAX = 16;

interface PlannedWork extends Readonly<Pick<TableActivity, 'remaining' | 'lostRuns'>> {
  readonly reasons: readonly Reason[];
  readonly isRemoving: boolean;
  /** Since the last run, all writes only added rows. */
  readonly onlyAppends: boolean;
}

/**
 * The engine compacts before it removes versions, so a lost compaction prevents the removal too. Appends do not
 * conflict with a compaction, so they are not blocked, unless the last run was lost to another write.
 */
export function shouldBlockWriters(
  { bytes, smallFragments }: Condition,
  { reasons, isRemoving, remaining, lostRuns, onlyAppends }: PlannedWork,
  { blockingBytesMax }: MaintenanceLimits,
): boolean {
  if (onlyAppends && lostRuns === 0) return false;
  const canCompact = smallFragments - (remaining?.smallFragments ?? 0) > 1;
  const compacts = reasons.includes('fragments') || reasons.includes('deletions') || (isRemoving && canCompact);
  return compacts && bytes <= blockingBytesMax * (lostRuns < LOST_RUNS_MAX ? 1 : BLOCKING_STRETCH_MAX);
}

/** The minimum number of new versions before old ones are listed again. */
const HISTORY_VERSIONS_MIN = 256;
/**
 * Listing them reads every manifest and measures every file: amortized by waiting for this fraction of the history in
 * new versions.
 */
const HISTORY_PART = 4;

/** The version from which old versions are listed again. */
export function findNextHistoryVersion({ version, versions }: TableActivity['checkedHistory']): number {
  return version + Math.max(HISTORY_VERSIONS_MIN, Math.ceil(versions / HISTORY_PART));
}

type FoundHistory = Readonly<Awaited<ReturnType<Engine['maintenance']['readHistory']>>>;

export interface VersionHistory extends Omit<FoundHistory, 'retentionSecondsMin'> {
  /** The size of the latest version. */
  readonly bytes: number;
  readonly now: number;
  /** The time that the engine may need before it starts the removal. */
  readonly reserveMilliseconds: number;
}

/**
 * Versions committed before this time are removed; `undefined` if none are. A version counts as being read until the
 * next one replaces it. The engine compares commit times instead, at the start of the removal, so the cutoff leaves a
 * reserve before the oldest version to keep.
 */
export function findRetentionCutoff(history: VersionHistory, limits: MaintenanceLimits): number | undefined {
  const { versions, keptFromVersion, now, reserveMilliseconds: reserve } = history;
  const { readerSeconds, retentionSeconds } = limits;
  const latestAt = (time: number): number =>
    versions.findLastIndex(({ committedAtMilliseconds }) => committedAtMilliseconds <= time);
  const retained = latestAt(now - Math.max(readerSeconds, retentionSeconds) * 1000);
  const unread = latestAt(now - readerSeconds * 1000);
  const fittingShare = findFittingShare(history, limits);
  // Keep only half of what fits: hysteresis, so that the next removal does not follow at once.
  const keptShare = fittingShare < 1 ? fittingShare / 2 : 1;
  const wanted = Math.max(retained, Math.ceil(unread * (1 - keptShare)));
  const oldest = versions[0];
  const kept = versions[Math.min(wanted, versions.length - limits.versionsMin)];
  if (oldest === undefined || kept === undefined) return undefined;
  const pinned = versions.find(({ version }) => version >= keptFromVersion);
  const cutoff = Math.min(
    // Without time for readers, versions are removed as soon as they are replaced.
    kept.committedAtMilliseconds - Math.min(reserve, readerSeconds * 1000),
    (pinned?.committedAtMilliseconds ?? Infinity) - reserve,
  );
  return oldest.committedAtMilliseconds < cutoff ? cutoff : undefined;
}

/**
 * The share of the history that fits the limits, assuming versions of equal size. Below 1, versions are removed before
 * the end of the retention time.
 */
export function findFittingShare({ versions, diskBytes, bytes }: VersionHistory, limits: MaintenanceLimits): number {
  const byNumber = Math.max(limits.versionsMax, limits.versionsMin) / versions.length;
  const allowedBytes = Math.max(limits.historyFloorBytes, bytes * limits.historyRatioMax);
  const byBytes = diskBytes <= bytes ? 1 : allowedBytes / (diskBytes - bytes);
  return Math.min(1, byNumber, byBytes);
}
