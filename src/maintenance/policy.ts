import type { Condition, VersionAge } from '../engine/engine.ts';
import type { MaintenanceLimits } from '../model/limits.ts';

/** Why a table should be put in order. */
export type Reason = 'fragments' | 'deletions' | 'index';

/** What has happened to a table since it was put in order. */
export interface Wear {
  /** Unknown for a table that was last written before the service started. */
  readonly commits: number | undefined;
  readonly isQuiet: boolean;
  /** What the last run could not improve. */
  readonly left: Pick<Condition, 'version' | 'smallFragments'> | undefined;
}

/** Fewer rows than these are found without an index in no time. */
const UNINDEXED_ROWS_MIN = 256;

export function findReasons(condition: Condition, wear: Wear, limits: MaintenanceLimits): readonly Reason[] {
  if (condition.version === wear.left?.version) return [];
  const reasons: readonly (readonly [Reason, boolean])[] = [
    ['fragments', hasManyFragments(condition, wear, limits)],
    ['deletions', hasManyDeletions(condition, limits)],
    ['index', condition.indexes.some(({ unindexedRows }) => isMissingMany(unindexedRows, condition.rows, limits))],
  ];
  return isWorthIt(condition, wear, limits) ? reasons.filter(([, applies]) => applies).map(([reason]) => reason) : [];
}

/** A merge may write the whole table anew: that many bytes should have been paid for by commits, or nobody is there. */
function isWorthIt({ bytes }: Condition, { commits, isQuiet }: Wear, limits: MaintenanceLimits): boolean {
  return isQuiet || commits === undefined || commits * limits.rewriteBytesPerCommit >= bytes;
}

function hasManyFragments({ smallFragments }: Condition, { left }: Wear, limits: MaintenanceLimits): boolean {
  return smallFragments - (left?.smallFragments ?? 0) >= limits.smallFragmentsMax;
}

function hasManyDeletions({ rows, deletedRows }: Condition, { deletedPercentMax }: MaintenanceLimits): boolean {
  const placed = rows + deletedRows;
  return placed >= UNINDEXED_ROWS_MIN && deletedRows * 100 > placed * deletedPercentMax;
}

function isMissingMany(unindexedRows: number, rows: number, { unindexedPercentMax }: MaintenanceLimits): boolean {
  return unindexedRows >= UNINDEXED_ROWS_MIN && unindexedRows * 100 > rows * unindexedPercentMax;
}

export interface Intent {
  readonly reasons: readonly Reason[];
  /** Whether old versions go, too. */
  readonly isRemoving: boolean;
  readonly left: Wear['left'];
  /** In a row. */
  readonly lostMerges: number;
}

/** Whether writers should wait for the merge. The engine merges before it removes versions: if that is lost, so is this. */
export function shouldWaitForMerge(
  { bytes, smallFragments }: Condition,
  { reasons, isRemoving, left, lostMerges }: Intent,
  { blockingBytesMax }: MaintenanceLimits,
): boolean {
  const canMerge = smallFragments - (left?.smallFragments ?? 0) > 1;
  const merges = reasons.includes('fragments') || reasons.includes('deletions') || (isRemoving && canMerge);
  const bytesMax = lostMerges < LOST_MERGES_MAX ? blockingBytesMax : blockingBytesMax * LANE_STRETCH_MAX;
  return merges && bytes <= bytesMax;
}

/** A merge of a large table runs beside its writers, and is lost when one of them is faster; not more often than this. */
const LOST_MERGES_MAX = 4;

/** Past this size writers would wait too long, whatever the table looks like: then only a quiet moment helps. */
const LANE_STRETCH_MAX = 16;

export interface Past {
  /** From the oldest to the latest. */
  readonly versions: readonly VersionAge[];
  readonly keptFromVersion: number;
  readonly diskBytes: number | undefined;
  /** Of the latest version. */
  readonly bytes: number;
  readonly now: number;
  /** How long the engine may take until it comes to the removal. */
  readonly reserveMilliseconds: number;
}

/**
 * How old a version must be to be removed, in milliseconds; `undefined` when none is to go. What counts is not when a
 * version was made but when the next one took its place: until then it was what readers got. The engine knows only the
 * first, and measures from the moment when it comes to the removal, so that a reserve is left in front of the oldest
 * version that must stay.
 */
export function chooseAge(past: Past, limits: MaintenanceLimits): number | undefined {
  const { versions, keptFromVersion, now, reserveMilliseconds: reserve } = past;
  const { readerSeconds, retentionSeconds } = limits;
  const current = findLast(versions, now - Math.max(readerSeconds, retentionSeconds) * 1000);
  const unread = findLast(versions, now - readerSeconds * 1000);
  const wanted = Math.max(current, Math.ceil(unread * (1 - keptShare(past, limits))));
  const oldest = versions[0];
  const kept = versions[Math.min(wanted, versions.length - limits.versionsMin)];
  if (oldest === undefined || kept === undefined) return undefined;
  const pinned = versions.find(({ version }) => version >= keptFromVersion);
  const before = Math.min(
    // Where readers are given no time, the versions may go as they come.
    kept.committedAtMilliseconds - Math.min(reserve, readerSeconds * 1000),
    (pinned?.committedAtMilliseconds ?? Infinity) - reserve,
  );
  return oldest.committedAtMilliseconds < before ? now - before : undefined;
}

/** Whether old versions go before the retention has passed. */
export function isHistoryTooLarge(past: Past, limits: MaintenanceLimits): boolean {
  return allowedShare(past, limits) < 1;
}

/** How much of the history may stay: of the number of versions, and of their size as if all were alike. */
function allowedShare({ versions, diskBytes, bytes }: Past, limits: MaintenanceLimits): number {
  const byNumber = Math.max(limits.versionsMax, limits.versionsMin) / versions.length;
  const allowedBytes = Math.max(limits.historyFloorBytes, bytes * limits.historyRatioMax);
  const byBytes = diskBytes === undefined || diskBytes <= bytes ? 1 : allowedBytes / (diskBytes - bytes);
  return Math.min(1, byNumber, byBytes);
}

/** Half of what is allowed, so that it takes a while until there is too much again; all when there is not too much. */
function keptShare(past: Past, limits: MaintenanceLimits): number {
  const allowed = allowedShare(past, limits);
  return allowed < 1 ? allowed / 2 : 1;
}

/** The version that was the latest at that time; -1 when there was none. */
function findLast(versions: readonly VersionAge[], at: number): number {
  return versions.findLastIndex(({ committedAtMilliseconds }) => committedAtMilliseconds <= at);
}
