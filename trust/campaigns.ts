import type { Campaign } from './campaign.ts';

/** A campaign in the plan of a run. */
export interface Planned {
  readonly name: string;
  readonly load: () => Promise<Campaign>;
  /** The most that it may take in full; then it is killed, and its row says so. */
  readonly minutesMax: number;
  /** Measures times: in full, nothing else runs at the same time. */
  readonly isAlone?: true;
  /** In full it takes as long as all the others together, so it only runs if named. */
  readonly isLong?: true;
}

/**
 * Long ones first, so that none is left over at the end; next to `kills`, which measures a time, those that use less of
 * the machine. At the end, alone: the flood before the uploads, whose gigabytes keep the disk busy for long. Each is
 * loaded only in the process that runs it.
 */
export const PLAN: readonly Planned[] = [
  { name: 'kills', minutesMax: 24, load: async () => (await import('./campaigns/kills.ts')).kills },
  { name: 'arrow', minutesMax: 20, load: async () => (await import('./campaigns/fuzz-arrow.ts')).fuzzArrow },
  { name: 'json', minutesMax: 12, load: async () => (await import('./campaigns/fuzz-json.ts')).fuzzJson },
  { name: 'sql', minutesMax: 12, load: async () => (await import('./campaigns/fuzz-sql.ts')).fuzzSql },
  { name: 'names', minutesMax: 10, load: async () => (await import('./campaigns/names.ts')).names },
  { name: 'linear', minutesMax: 24, load: async () => (await import('./campaigns/linear.ts')).linear },
  { name: 'faults', minutesMax: 12, load: async () => (await import('./campaigns/faults.ts')).faults },
  { name: 'client', minutesMax: 8, load: async () => (await import('./campaigns/client.ts')).client },
  { name: 'sync', minutesMax: 8, load: async () => (await import('./campaigns/sync.ts')).sync },
  { name: 'races', minutesMax: 6, load: async () => (await import('./campaigns/races.ts')).races },
  { name: 'access', minutesMax: 6, load: async () => (await import('./campaigns/access.ts')).access },
  {
    name: 'overload',
    minutesMax: 5,
    isAlone: true,
    load: async () => (await import('./campaigns/overload.ts')).overload,
  },
  {
    name: 'hostile-reads',
    minutesMax: 10,
    isAlone: true,
    load: async () => (await import('./campaigns/hostile-reads.ts')).hostileReads,
  },
  {
    name: 'nodes',
    minutesMax: 60,
    isAlone: true,
    isLong: true,
    load: async () => (await import('./campaigns/nodes.ts')).nodes,
  },
  { name: 'memory', minutesMax: 8, isAlone: true, load: async () => (await import('./campaigns/memory.ts')).memory },
];
