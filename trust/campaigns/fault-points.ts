import type { FaultAction, FaultCall, FaultRule } from '../../test/support/faults.ts';
import { CATALOG_LOG, MANIFEST, MARKS_FILE } from '../../test/support/faulty-server.ts';

/** A point at which a write can be interrupted. */
export interface FaultPoint {
  readonly name: string;
  readonly calls: readonly FaultCall[];
  /** Paths of the table's files, or others. */
  readonly paths: (table: string) => readonly string[];
  readonly faults: readonly Fault[];
  /** The reply of the engine's first commit is lost too. */
  readonly isAfterLostReply?: true;
}

export interface Fault {
  readonly action: FaultAction;
  readonly error?: 'EIO' | 'ENOSPC' | 'EMFILE';
}

/** The steps of the write pipeline, in the order in which they start. Without a fault, a write does not verify. */
export const WRITE_STEPS = [
  'replay',
  'enqueue',
  'batch',
  'own',
  'begin',
  'commit',
  'verify',
  'sync',
  'record',
  'mark',
  'send',
  'sent',
] as const;

const KILLS: readonly Fault[] = [{ action: 'kill' }, { action: 'kill-after' }];
const ANY_ERROR: readonly Fault[] = (['EIO', 'ENOSPC', 'EMFILE'] as const).map((error) => ({ action: 'fail', error }));
const LOST_REPLY: Fault = { action: 'lose', error: 'EIO' };
const [EIO, ENOSPC, EMFILE] = ANY_ERROR as readonly [Fault, Fault, Fault];
const anyPath = (): readonly string[] => ['*'];
const ofTable = (table: string): readonly string[] => [`/${table}-`];

export const FAULT_POINTS: readonly FaultPoint[] = [
  ...WRITE_STEPS.map((step) => ({
    name: `step ${step}`,
    calls: [`step.${step}` as const],
    paths: anyPath,
    faults: [{ action: 'kill' } as const],
  })),
  {
    name: 'engine commit',
    calls: ['link'],
    paths: () => MANIFEST,
    faults: [LOST_REPLY, ...KILLS, EIO, ENOSPC],
  },
  ...(['verify', 'sync', 'record'] as const).map((step) => ({
    name: `step ${step} after a lost reply`,
    calls: [`step.${step}` as const],
    paths: anyPath,
    faults: [{ action: 'kill' } as const],
    isAfterLostReply: true as const,
  })),
  { name: 'table sync', calls: ['disk'], paths: anyPath, faults: ANY_ERROR },
  { name: 'mark', calls: ['write'], paths: () => MARKS_FILE, faults: [...KILLS, ENOSPC, EIO] },
  { name: 'catalog sync', calls: ['sync'], paths: () => CATALOG_LOG, faults: [...KILLS, EIO] },
  { name: 'catalog write', calls: ['write'], paths: () => CATALOG_LOG, faults: [EIO, ENOSPC] },
  { name: 'file write', calls: ['write'], paths: ofTable, faults: [EIO, ENOSPC] },
  { name: 'file open', calls: ['open'], paths: ofTable, faults: [EMFILE, EIO] },
  // The engine renames its temporary files with direct system calls, which no library sees.
  { name: 'file rename', calls: ['rename'], paths: ofTable, faults: [EIO, ENOSPC] },
  { name: 'file removal', calls: ['unlink'], paths: ofTable, faults: [EIO, ...KILLS] },
  { name: 'upload write', calls: ['write'], paths: () => ['/uploads/'], faults: [EIO, ENOSPC] },
];

/** Counts how often a write reaches the point, without any effect. */
export function toCounter({ calls, paths }: FaultPoint, table: string): FaultRule {
  return { action: 'log', calls, paths: paths(table), count: 0 };
}

export function toRule({ calls, paths }: FaultPoint, fault: Fault, at: { table: string; skip: number }): FaultRule {
  return { ...fault, calls, paths: paths(at.table), skip: at.skip };
}

export const LOST_COMMIT: FaultRule = { ...LOST_REPLY, calls: ['link'], paths: MANIFEST };

/** What a full run tries first: a kill at each step of each write, and each lost reply. */
export function isEssential({ name }: FaultPoint, { action }: Fault, occurrence: number): boolean {
  return action === 'lose' || (name.startsWith('step ') && occurrence === 0);
}

export function isKill({ action }: Fault): boolean {
  return action === 'kill' || action === 'kill-after';
}

/** A kill between the mark of a response and its first byte: a retry without a key is then a new request. */
export function isAtMark({ name }: FaultPoint, { action }: Fault): boolean {
  return name === 'step send' || (name === 'mark' && action === 'kill-after');
}

const OCCURRENCES_MAX = 4;

/**
 * Which occurrences of a point are tried: all if there are few, otherwise the first ones, one in the middle and the
 * last.
 */
export function pickOccurrences(count: number): readonly number[] {
  if (count <= OCCURRENCES_MAX) return Array.from({ length: count }, (_unused, each) => each);
  return [0, 1, Math.floor(count / 2), count - 1];
}
