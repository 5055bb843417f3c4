import type { Catalog } from '../catalog/catalog.ts';
import type { Engine } from '../engine/engine.ts';
import type { Load } from '../http/admission/load.ts';
import { WORK_CLASSES } from '../http/admission/admission-control.ts';
import type { WorkClass } from '../http/admission/admission-control.ts';
import type { Jobs } from '../jobs/jobs.ts';
import type { Storages } from '../storage/storages.ts';
import type { Writes } from '../writes/writes.ts';
import type { Readings } from '../telemetry/metrics/metric-rows.ts';

export interface ReadParts {
  readonly catalog: Catalog;
  readonly engine: Engine;
  readonly writes: Writes;
  readonly storages: Storages;
  readonly load: Load;
  readonly jobs: Jobs;
  readonly connections: () => number;
  readonly release: string;
  readonly workerRestarts: number;
}

/** What the metrics show of the parts at this moment. */
export function takeReadings(parts: ReadParts): Readings {
  return { ...readProcess(parts), ...readLoad(parts), ...readData(parts) };
}

type Part<Name extends keyof Readings> = Pick<Readings, Name>;

function readProcess({
  release,
  workerRestarts,
}: ReadParts): Part<'build' | 'startedAt' | 'workerRestarts' | 'memory' | 'cpu' | 'eventLoopBusy'> {
  const { rss, heapUsed, heapTotal, external, arrayBuffers } = process.memoryUsage();
  const { user, system } = process.cpuUsage();
  return {
    build: { [release]: 1 },
    startedAt: performance.timeOrigin / 1000,
    workerRestarts,
    memory: { rss, heap_used: heapUsed, heap_total: heapTotal, external, array_buffers: arrayBuffers },
    cpu: { user: user / 1e6, system: system / 1e6 },
    eventLoopBusy: performance.eventLoopUtilization().active / 1000,
  };
}

function readLoad({
  load,
  connections,
}: ReadParts): Part<
  | 'connections'
  | 'requestsInFlight'
  | 'admissionRunning'
  | 'admissionWaiting'
  | 'admissionRefused'
  | 'budgetUsed'
  | 'budgetMax'
> {
  const { admission, arrowMemory, jsonMemory, inFlight } = load;
  return {
    connections: connections(),
    requestsInFlight: inFlight.count,
    admissionRunning: byWork((work) => admission.counts(work).running),
    admissionWaiting: byWork((work) => admission.counts(work).waiting),
    admissionRefused: byWork((work) => admission.counts(work).refused),
    budgetUsed: { arrow: arrowMemory.usedBytes, json: jsonMemory.usedBytes },
    budgetMax: { arrow: arrowMemory.bytesMax, json: jsonMemory.bytesMax },
  };
}

function readData({
  engine,
  writes,
  storages,
  catalog,
  jobs,
}: ReadParts): Part<
  | 'lanesRunning'
  | 'lanesWaiting'
  | 'openTables'
  | 'openTableUses'
  | 'abandoned'
  | 'lookupEntries'
  | 'lookups'
  | 'catalogTransactions'
  | 'syncs'
  | 'jobs'
> {
  const { orphanedQueries, openTables } = engine.counts();
  const { queuesRunning, queuesWaiting } = writes.counts();
  const lookups = catalog.lookupCounts();
  return {
    lanesRunning: queuesRunning,
    lanesWaiting: queuesWaiting,
    openTables: openTables.open,
    openTableUses: { hit: openTables.hits, miss: openTables.misses },
    abandoned: orphanedQueries,
    lookupEntries: lookups.entries,
    lookups: { hit: lookups.hits, miss: lookups.misses },
    catalogTransactions: catalog.counts().transactions,
    syncs: { tables: storages.syncCount(), catalog: catalog.counts().syncs },
    jobs: { running: jobs.runningCount, waiting: jobs.waitingCount },
  };
}

function byWork(read: (work: WorkClass) => number): Readonly<Record<string, number>> {
  return Object.fromEntries(WORK_CLASSES.map((work) => [work, read(work)]));
}
