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
  // Amortise: compact once commits × rewriteBytesPerCommit ≥ table size, or the table is idle.
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

/** A compaction beside writers is lost when one of them commits first; after so many losses writers wait. */
const LOST_RUNS_MAX = 4;

/** Above this multiple of the size writers would wait too long in any case: only an idle table can be compacted. */
const BLOCKING_STRETCH_MAX = 16;

interface PlannedWork extends Readonly<Pick<TableActivity, 'remaining' | 'lostRuns'>> {
  readonly reasons: readonly Reason[];
  readonly isRemoving: boolean;
  /** Since the last run, its writers have only added rows. */
  readonly onlyAppends: boolean;
}

/**
 * The engine compacts before it removes versions: a lost compaction prevents the removal, too. Appends do not conflict
 * with a compaction, so they do not wait, unless the last run was lost to another write.
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

/** New versions after which the old ones are listed, at least. */
const HISTORY_VERSIONS_MIN = 256;
/** Listing them reads every manifest and measures every file: amortised over commits that are a part of the history. */
const HISTORY_PART = 4;

/** The version from which old versions are listed again. */
export function findNextHistoryVersion({ version, versions }: TableActivity['checkedHistory']): number {
  return version + Math.max(HISTORY_VERSIONS_MIN, Math.ceil(versions / HISTORY_PART));
}

type FoundHistory = Readonly<Awaited<ReturnType<Engine['maintenance']['readHistory']>>>;

export interface VersionHistory extends Omit<FoundHistory, 'retentionSecondsMin'> {
  /** Of the latest version. */
  readonly bytes: number;
  readonly now: number;
  /** The time that the engine may need until it starts the removal. */
  readonly reserveMilliseconds: number;
}

/**
 * The time before which versions must be committed to be removed; `undefined` when none is. A version counts as read until
 * the next one replaced it. The engine compares commit times instead, at the start of the removal: the cutoff keeps a
 * reserve before the oldest version that must stay.
 */
export function findRetentionCutoff(history: VersionHistory, limits: MaintenanceLimits): number | undefined {
  const { versions, keptFromVersion, now, reserveMilliseconds: reserve } = history;
  const { readerSeconds, retentionSeconds } = limits;
  const latestAt = (time: number): number =>
    versions.findLastIndex(({ committedAtMilliseconds }) => committedAtMilliseconds <= time);
  const retained = latestAt(now - Math.max(readerSeconds, retentionSeconds) * 1000);
  const unread = latestAt(now - readerSeconds * 1000);
  const fittingShare = findFittingShare(history, limits);
  // Half of what fits: hysteresis, which keeps the next removal from following at once.
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
 * The share of the history that fits the limits, assuming versions of equal size. Below 1, versions are removed before the
 * end of the retention.
 */
export function findFittingShare({ versions, diskBytes, bytes }: VersionHistory, limits: MaintenanceLimits): number {
  const byNumber = Math.max(limits.versionsMax, limits.versionsMin) / versions.length;
  const allowedBytes = Math.max(limits.historyFloorBytes, bytes * limits.historyRatioMax);
  const byBytes = diskBytes <= bytes ? 1 : allowedBytes / (diskBytes - bytes);
  return Math.min(1, byNumber, byBytes);
}
