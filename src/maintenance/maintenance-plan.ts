import type { Condition, Engine } from '../engine/engine.ts';
import type { MaintenanceLimits } from '../model/limits.ts';
import type { BackgroundWork } from '../writes/writes.ts';
import {
  findFittingShare,
  findMaintenanceReasons,
  findNextHistoryVersion,
  findRetentionCutoff,
  shouldBlockWriters,
} from './policy.ts';
import type { Reason, TableActivity } from './table-activity.ts';

export interface MaintenanceContext {
  readonly engine: Engine;
  readonly background: Pick<BackgroundWork, 'optimize'>;
  readonly limits: MaintenanceLimits;
  readonly now: () => number;
}

export interface MaintenancePlan {
  readonly condition: Condition;
  readonly reasons: readonly Reason[];
  /** Versions committed before this time are removed; none if absent. */
  readonly cutoff: number | undefined;
  readonly blocksWriters: boolean;
  /** Since the last run, all writes only added rows. */
  readonly onlyAppends: boolean;
}

export interface PlanOptions {
  /** Requested by a user: improves whatever can be improved. */
  readonly isForced: boolean;
  /** Checks old versions, however few were added since the last check. */
  readonly isHistoryDue?: boolean;
  /** When old versions may be removed again. */
  readonly removeFrom: number;
}

/** Records in `activity` when old versions are to be checked again. */
export async function planMaintenance(
  context: MaintenanceContext,
  activity: TableActivity,
  options: PlanOptions,
): Promise<MaintenancePlan> {
  const { engine, limits, now } = context;
  const { isForced, removeFrom } = options;
  const condition = await engine.maintenance.assess(activity.table.location);
  const { commits, lastCommitAt, historyAt, checkedHistory } = activity;
  const isIdle = isForced || now() - lastCommitAt >= limits.quietSeconds * 1000;
  const recent = { commits, isIdle, remaining: isForced ? undefined : activity.remaining };
  const reasons = findMaintenanceReasons(condition, recent, isForced ? { ...limits, smallFragmentsMax: 2 } : limits);
  const isHistoryDue =
    isForced ||
    options.isHistoryDue === true ||
    (historyAt !== undefined && historyAt <= now()) ||
    condition.version >= findNextHistoryVersion(checkedHistory);
  const isPostponed = isHistoryDue && now() < removeFrom;
  if (isPostponed) activity.historyAt = removeFrom;
  const cutoff = isHistoryDue && !isPostponed ? await planRemoval(context, activity, { condition, isIdle }) : undefined;
  const { remaining, lostRuns } = activity;
  const onlyAppends = commits !== undefined && !activity.hasRewrites;
  const work = { reasons, isRemoving: cutoff !== undefined, remaining, lostRuns, onlyAppends };
  const blocksWriters = shouldBlockWriters(condition, work, limits);
  return { condition, reasons, cutoff, blocksWriters, onlyAppends };
}

async function planRemoval(
  { engine, limits: given, now }: MaintenanceContext,
  activity: TableActivity,
  { condition, isIdle }: { readonly condition: Condition; readonly isIdle: boolean },
): Promise<number | undefined> {
  const found = await engine.maintenance.readHistory(activity.table.location);
  const limits = { ...given, readerSeconds: Math.max(given.readerSeconds, found.retentionSecondsMin) };
  const history = {
    ...found,
    bytes: condition.bytes,
    now: now(),
    reserveMilliseconds: chooseReserve(activity, condition, isIdle),
  };
  const cutoff = findRetentionCutoff(history, limits);
  activity.checkedHistory = { version: condition.version, versions: found.versions.length };
  const isUnfinished = findFittingShare(history, limits) < 1 && history.versions.length > limits.versionsMin;
  // Versions that are too young can be removed soon, so check again; versions that a tag keeps are not retried
  // endlessly.
  const isAwaited = isUnfinished && (cutoff !== undefined || activity.historyAt === undefined);
  activity.historyAt = isAwaited ? now() + (cutoff === undefined ? limits.readerSeconds * 1000 : 0) : undefined;
  return cutoff;
}

/** The engine compacts before it removes versions; without fragments to compact, the removal starts at once. */
const RESERVE_MILLISECONDS = { nothingToCompact: 1000, compaction: 5000 };
const RESERVE_FACTOR = 4;

function chooseReserve({ lastRun }: TableActivity, { smallFragments }: Condition, isIdle: boolean): number {
  if (isIdle && smallFragments <= 1) return RESERVE_MILLISECONDS.nothingToCompact;
  const compactionMilliseconds = lastRun === undefined ? 0 : lastRun.milliseconds - lastRun.removalMilliseconds;
  return RESERVE_MILLISECONDS.compaction + RESERVE_FACTOR * compactionMilliseconds;
}
