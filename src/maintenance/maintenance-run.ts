import type { TableLocation } from '../model/table.ts';
import type { TimedOptimization } from '../writes/writes.ts';
import type { MaintenanceContext, MaintenancePlan } from './maintenance-plan.ts';
import type { MaintenanceRun } from './table-activity.ts';

/** No file is written for longer than this: an older unfinished one belongs to a crashed writer. */
const UNFINISHED_MILLISECONDS = 86_400_000;

/**
 * Compaction and removal are separate steps, each synced at its end: files that the compaction replaced are removed
 * only once it is on disk. `requireUndone` refuses while a failed write of several commits is still to be undone.
 */
export async function runMaintenance(
  { engine, background, now }: MaintenanceContext,
  location: TableLocation,
  { condition, reasons, cutoff, blocksWriters, onlyAppends }: MaintenancePlan,
  requireUndone?: () => Promise<void>,
): Promise<MaintenanceRun> {
  const startedAt = now();
  // An update that commits first discards the compaction, so pausing writers would not help.
  const pausesWriters = onlyAppends && !blocksWriters;
  const compaction = { blocksWriters, pausesWriters, cutoff: undefined };
  const compacted = await background.optimize(location, compaction, requireUndone);
  const compactedAt = now();
  let removed: TimedOptimization | undefined;
  let removalMilliseconds = 0;
  if (cutoff !== undefined) {
    removed = await background.optimize(location, { blocksWriters: false, cutoff }, requireUndone);
    removalMilliseconds = now() - compactedAt;
  }
  const filesSwept = await engine.maintenance.sweep(location, UNFINISHED_MILLISECONDS);
  const steps = [compacted, removed].filter((step) => step !== undefined);
  const sum = (name: keyof TimedOptimization): number => steps.reduce((total, step) => total + step[name], 0);
  const endedAt = now();
  return {
    version: steps.at(-1)?.version ?? condition.version,
    fragmentsRemoved: sum('fragmentsRemoved'),
    fragmentsAdded: sum('fragmentsAdded'),
    versionsRemoved: sum('versionsRemoved'),
    bytesRemoved: sum('bytesRemoved'),
    laneMilliseconds: sum('laneMilliseconds'),
    reasons,
    isLost: steps.length === 0,
    filesSwept,
    milliseconds: endedAt - startedAt,
    removalMilliseconds,
    endedAt,
  };
}

/** A run in replies: in its job, and in the description of the table. */
export type RunRecord = ReturnType<typeof toRunRecord>;

export function toRunRecord(run: MaintenanceRun) {
  return {
    version: run.version,
    reasons: run.reasons,
    fragments_removed: run.fragmentsRemoved,
    fragments_added: run.fragmentsAdded,
    versions_removed: run.versionsRemoved,
    bytes_removed: run.bytesRemoved,
    files_swept: run.filesSwept,
    lost_to_writer: run.isLost,
    milliseconds: Math.round(run.milliseconds),
    writers_waited_milliseconds: Math.round(run.laneMilliseconds),
    ended_ms: run.endedAt,
  } as const;
}
