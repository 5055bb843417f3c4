import type { Condition, Engine } from '../engine/engine.ts';
import type { MaintenanceLimits } from '../model/limits.ts';
import type { TableLocation } from '../model/table.ts';
import { chooseAge, findReasons, isHistoryTooLarge, shouldWaitForMerge } from './policy.ts';
import type { Past, Reason } from './policy.ts';
import type { BackgroundWork, TimedOptimization } from '../writes/writes.ts';
import type { Upkeep } from './maintenance-run.ts';
import type { TableWatch } from './table-activity.ts';

export interface UpkeepContext {
  readonly engine: Engine;
  readonly background: Pick<BackgroundWork, 'optimize'>;
  readonly limits: MaintenanceLimits;
  readonly now: () => number;
}

/** What there is to do, and how. */
export interface UpkeepPlan {
  readonly condition: Condition;
  readonly reasons: readonly Reason[];
  /** Versions older than this go. */
  readonly ageMilliseconds: number | undefined;
  readonly isInLane: boolean;
}

/** Versions after which a look at the old ones is worth its listing. */
const HISTORY_VERSIONS = 256;

/** Nobody writes one file for longer than this. */
const ABANDONED_MILLISECONDS = 86_400_000;

export interface PlanOptions {
  /** Asked for by hand: whatever can be improved is. */
  readonly isForced: boolean;
  /** When old versions may be removed again. */
  readonly removeFrom: number;
}

export async function planUpkeep(
  context: UpkeepContext,
  watch: TableWatch,
  { isForced, removeFrom }: PlanOptions,
): Promise<UpkeepPlan> {
  const { engine, limits, now } = context;
  const condition = await engine.maintenance.assess(watch.table.location);
  const isQuiet = isForced || now() - watch.lastCommitAt >= limits.quietSeconds * 1000;
  const wear = { commits: watch.commits, isQuiet, left: isForced ? undefined : watch.left };
  const reasons = findReasons(condition, wear, isForced ? { ...limits, smallFragmentsMax: 2 } : limits);
  const isHistoryDue =
    isForced ||
    (watch.historyAt !== undefined && watch.historyAt <= now()) ||
    watch.commits === undefined ||
    condition.version - watch.historyVersion >= HISTORY_VERSIONS;
  const isPutOff = isHistoryDue && now() < removeFrom;
  if (isPutOff) watch.historyAt = removeFrom;
  const ageMilliseconds =
    isHistoryDue && !isPutOff ? await planHistory(context, watch, { condition, isQuiet }) : undefined;
  const { left, lostMerges } = watch;
  const isRemoving = ageMilliseconds !== undefined;
  const isInLane = shouldWaitForMerge(condition, { reasons, isRemoving, left, lostMerges }, limits);
  return { condition, reasons, ageMilliseconds, isInLane };
}

export function hasWork({ reasons, ageMilliseconds }: UpkeepPlan): boolean {
  return reasons.length > 0 || ageMilliseconds !== undefined;
}

/** The engine merges before it removes. Where there is nothing to merge it comes to the removal at once. */
const RESERVE_MILLISECONDS = { nothingToMerge: 1000, merge: 5000 };
const RESERVE_FACTOR = 4;

function chooseReserve({ lastUpkeep }: TableWatch, { smallFragments }: Condition, isQuiet: boolean): number {
  if (isQuiet && smallFragments <= 1) return RESERVE_MILLISECONDS.nothingToMerge;
  const mergedIn = lastUpkeep === undefined ? 0 : lastUpkeep.milliseconds - lastUpkeep.removalMilliseconds;
  return RESERVE_MILLISECONDS.merge + RESERVE_FACTOR * mergedIn;
}

async function planHistory(
  { engine, limits, now }: UpkeepContext,
  watch: TableWatch,
  { condition, isQuiet }: { readonly condition: Condition; readonly isQuiet: boolean },
): Promise<number | undefined> {
  const history = await engine.maintenance.readHistory(watch.table.location);
  const past: Past = {
    ...history,
    bytes: condition.bytes,
    now: now(),
    reserveMilliseconds: chooseReserve(watch, condition, isQuiet),
  };
  const age = chooseAge(past, limits);
  watch.historyVersion = condition.version;
  const isUnfinished = isHistoryTooLarge(past, limits) && past.versions.length > limits.versionsMin;
  // What is too young now is old enough soon; what a tag keeps is not, so that this is not tried again without end.
  const waits = isUnfinished && (age !== undefined || watch.historyAt === undefined);
  watch.historyAt = waits ? now() + (age === undefined ? limits.readerSeconds * 1000 : 0) : undefined;
  return age;
}

export async function runUpkeep(context: UpkeepContext, location: TableLocation, plan: UpkeepPlan): Promise<Upkeep> {
  const { engine, background, now } = context;
  const startedAt = now();
  const { isInLane, reasons, condition } = plan;
  const merged = await background.optimize(location, { isInLane, olderThanMilliseconds: undefined });
  const mergedAt = now();
  const done = joinSteps(merged, await removeOld(context, location, { ...plan, plannedAt: startedAt }));
  const removalMilliseconds = plan.ageMilliseconds === undefined ? 0 : now() - mergedAt;
  const filesSwept = await engine.maintenance.sweep(location, ABANDONED_MILLISECONDS);
  const endedAt = now();
  const times = { milliseconds: endedAt - startedAt, removalMilliseconds, endedAt };
  const facts = { reasons, isLost: done === undefined, filesSwept };
  return { ...(done ?? nothingDone(condition.version)), ...facts, ...times };
}

interface Removal extends Pick<UpkeepPlan, 'ageMilliseconds'> {
  readonly plannedAt: number;
}

/**
 * In a step of its own: each step is synced at its end, so that what a merge replaced goes only when the merge itself is on
 * disk. Nothing that was committed after the planning is old enough to go.
 */
async function removeOld(
  { background, now }: UpkeepContext,
  location: TableLocation,
  { ageMilliseconds, plannedAt }: Removal,
): Promise<TimedOptimization | undefined> {
  if (ageMilliseconds === undefined) return undefined;
  const olderThanMilliseconds = ageMilliseconds + (now() - plannedAt);
  return background.optimize(location, { isInLane: false, olderThanMilliseconds });
}

function joinSteps(
  merged: TimedOptimization | undefined,
  removed: TimedOptimization | undefined,
): TimedOptimization | undefined {
  if (merged === undefined || removed === undefined) return removed ?? merged;
  return {
    version: removed.version,
    fragmentsRemoved: merged.fragmentsRemoved + removed.fragmentsRemoved,
    fragmentsAdded: merged.fragmentsAdded + removed.fragmentsAdded,
    versionsRemoved: merged.versionsRemoved + removed.versionsRemoved,
    bytesRemoved: merged.bytesRemoved + removed.bytesRemoved,
    laneMilliseconds: merged.laneMilliseconds + removed.laneMilliseconds,
  };
}

function nothingDone(version: number): TimedOptimization {
  return { version, fragmentsRemoved: 0, fragmentsAdded: 0, versionsRemoved: 0, bytesRemoved: 0, laneMilliseconds: 0 };
}
