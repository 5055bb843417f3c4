import type { TimedOptimization } from '../writes/writes.ts';
import type { Reason } from './policy.ts';

/** What was done. */
export interface Upkeep extends TimedOptimization {
  readonly reasons: readonly Reason[];
  /** A writer was faster, and the work was lost. */
  readonly isLost: boolean;
  readonly filesSwept: number;
  readonly milliseconds: number;
  /** Of these, for the removal of old versions, which disturbs nobody. */
  readonly removalMilliseconds: number;
  readonly endedAt: number;
}

/** A run as its job and the description of the table show it, in the words of replies. */
export type RunRecord = Readonly<{
  version: number;
  reasons: readonly string[];
  fragments_removed: number;
  fragments_added: number;
  versions_removed: number;
  bytes_removed: number;
  files_swept: number;
  lost_to_writer: boolean;
  milliseconds: number;
  writers_waited_milliseconds: number;
  ended_ms: number;
}>;

export function toRunRecord(upkeep: Upkeep): RunRecord {
  return {
    version: upkeep.version,
    reasons: upkeep.reasons,
    fragments_removed: upkeep.fragmentsRemoved,
    fragments_added: upkeep.fragmentsAdded,
    versions_removed: upkeep.versionsRemoved,
    bytes_removed: upkeep.bytesRemoved,
    files_swept: upkeep.filesSwept,
    lost_to_writer: upkeep.isLost,
    milliseconds: Math.round(upkeep.milliseconds),
    writers_waited_milliseconds: Math.round(upkeep.laneMilliseconds),
    ended_ms: upkeep.endedAt,
  };
}
