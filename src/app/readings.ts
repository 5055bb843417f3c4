import { WORK_CLASSES } from '../http/admission/admission-control.ts';
import type { Readings } from '../telemetry/metrics/metric-rows.ts';
import type { AppParts } from './parts.ts';

/** The current values that the metrics show. */
export function takeReadings(
  {
    catalog,
    engine,
    writes,
    storages,
    load,
    jobs,
    commitFeed,
    webhooks,
    workerRestarts,
    membership,
    leases,
    forwarder,
    resultCache,
    embeddings,
  }: AppParts,
  { release, connections }: { readonly release: string; readonly connections: number },
): Readings {
  const { rss, heapUsed, heapTotal, external, arrayBuffers } = process.memoryUsage();
  const { user, system } = process.cpuUsage();
  const { admission, arrowMemory, jsonMemory, inFlight } = load;
  const { orphanedQueries, sharedQueries, openTables, readMemory } = engine.counts();
  const lookups = catalog.lookupCounts();
  const results = resultCache.counts();
  const embedded = embeddings?.counts();
  const admitted = (count: 'running' | 'waiting' | 'refused'): Readonly<Record<string, number>> =>
    Object.fromEntries(WORK_CLASSES.map((work) => [work, admission.counts(work)[count]]));
  return {
    build: { [release]: 1 },
    engine: { [engine.release.version]: 1 },
    startedAt: performance.timeOrigin / 1000,
    workerRestarts,
    memory: { rss, heap_used: heapUsed, heap_total: heapTotal, external, array_buffers: arrayBuffers },
    cpu: { user: user / 1e6, system: system / 1e6 },
    eventLoopBusy: performance.eventLoopUtilization().active / 1000,
    connections,
    requestsInFlight: inFlight.count,
    admissionRunning: admitted('running'),
    admissionWaiting: admitted('waiting'),
    admissionRefused: admitted('refused'),
    budgetUsed: { arrow: arrowMemory.usedBytes, json: jsonMemory.usedBytes, read: readMemory.usedBytes },
    budgetMax: { arrow: arrowMemory.bytesMax, json: jsonMemory.bytesMax, read: readMemory.bytesMax },
    queuesRunning: writes.queues.running,
    queuesWaiting: writes.queues.waiting,
    openTables: openTables.open,
    openTableUses: { hit: openTables.hits, miss: openTables.misses },
    orphanedQueries,
    sharedQueries,
    lookupEntries: lookups.entries,
    lookups: { hit: lookups.hits, miss: lookups.misses },
    cachedResults: results.entries,
    cachedResultBytes: results.bytes,
    cachedResultLookups: { hit: results.hits, miss: results.misses, bypass: results.bypassed },
    cachedResultEvictions: results.evictions,
    catalogTransactions: catalog.counts().transactions,
    syncs: { tables: storages.syncCount(), catalog: catalog.counts().syncs },
    nodes: membership === undefined ? { alive: 1, silent: 0 } : { ...membership.nodes },
    leasesHeld: leases?.held ?? 0,
    forwardsRunning: forwarder?.running ?? 0,
    heartbeatAge: membership?.silentSeconds ?? 0,
    eventListeners: commitFeed.listeners,
    webhooksRunning: webhooks.running,
    embeddingCallsRunning: embedded?.running ?? 0,
    cachedEmbeddings: embedded?.entries ?? 0,
    cachedEmbeddingBytes: embedded?.bytes ?? 0,
    embeddingLookups: embedded?.lookups ?? {},
    jobs: jobs.counts(),
  };
}
