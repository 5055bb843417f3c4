import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { createAuthenticator } from '../auth/authenticator.ts';
import { generateApiKey, generateClientSecret } from '../auth/keys/secrets.ts';
import { generateSigningKey } from '../auth/keys/signing-keys.ts';
import { findOwnIssuer, localUrlOf } from '../config/config.ts';
import type { Config } from '../config/config.ts';
import type { Catalog } from '../catalog/catalog.ts';
import { createSingleProcess } from '../coordination/coordination.ts';
import { ServerLock } from '../coordination/server-lock.ts';
import type { TableLeases } from '../coordination/table-leases.ts';
import { WriteGate } from '../coordination/write-gate.ts';
import { Backfills } from '../derived/backfills.ts';
import { ViewSchedule } from '../derived/view-schedule.ts';
import { Views } from '../derived/views.ts';
import { createOpenAiProvider } from '../embeddings/embedding-provider.ts';
import { Embeddings } from '../embeddings/embeddings.ts';
import { openEngine } from '../engine/engine.ts';
import { CommitFeed } from '../events/commit-feed.ts';
import { createWebhookSender } from '../events/send-webhook.ts';
import { Webhooks } from '../events/webhooks.ts';
import type { TornManifest } from '../engine/native/connections.ts';
import { readEngineRelease, requireRootSupport } from '../engine/native/engine-release.ts';
import { loadNative } from '../engine/native/native.ts';
import type { NativeEngine } from '../engine/native/native.ts';
import { watchEngine } from '../engine/watched-engine.ts';
import { createLoad } from '../http/admission/load.ts';
import { Jobs } from '../jobs/jobs.ts';
import { Maintenance } from '../maintenance/maintenance.ts';
import { checkDeclared } from '../operations/tables/declared-tables.ts';
import { TRIAL_FILE, readRelease } from '../release.ts';
import { SizeQuotas } from '../quotas/size-quotas.ts';
import { ResultCache } from '../result-cache/result-cache.ts';
import { SlowQueries } from '../slow-queries/slow-queries.ts';
import { openStorages } from '../storage/storages.ts';
import type { StorageSettings, Storages } from '../storage/storages.ts';
import type { TelemetryEvent } from '../telemetry/events.ts';
import { batchLines, openLogOutput } from '../telemetry/log/log-output.ts';
import { ActivityHistory } from '../telemetry/metrics/activity-history.ts';
import { Metrics, watchEventLoop } from '../telemetry/metrics/metrics.ts';
import { createTelemetry, openOpenTelemetry } from '../telemetry/telemetry.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import { FilterShares } from '../tuning/filter-shares.ts';
import { Tuner } from '../tuning/tuner.ts';
import { Writes } from '../writes/writes.ts';
import type { OnWriteStep, WritesSettings } from '../writes/writes.ts';
import { openConfiguredCatalog, openVending, toObjectSettings } from './configured-catalog.ts';
import { chooseNodeId, connectMembership, joinNodes, openForwarder, openNodeList } from './nodes.ts';
import { ensureAdminKey, ensureDefaultDatabase, ensureRoots, ensureSigningKey, requireSharedRoots } from './startup.ts';

/** The environment of the service, which tests may replace. */
export interface Outside extends Pick<StorageSettings, 'disk'> {
  /** How many workers were replaced before this one. */
  readonly workerRestarts?: number;
  /** The process to signal. */
  readonly supervisorPid?: number;
  /** Called when a step of the commit protocol starts. */
  readonly onWriteStep?: OnWriteStep;
}

interface Closeable {
  close(): Promise<void> | void;
}

/** The opened parts, to be closed in reverse order. */
export class OpenParts {
  readonly #open: Closeable[] = [];

  add<Part extends Closeable | undefined>(part: Part): Part {
    if (part !== undefined) this.#open.push(part);
    return part;
  }

  async close(): Promise<void> {
    for (let part = this.#open.pop(); part !== undefined; part = this.#open.pop()) await part.close();
  }
}

export type AppParts = Awaited<ReturnType<typeof openParts>>;

/** Everything that the HTTP server needs, including what operations use. */
export async function openParts(config: Config, outside: Outside, open: OpenParts) {
  const { storage, limits } = config;
  // Before anything is created: without a suitable engine the start fails and leaves nothing behind.
  requireRootSupport(storage.root, readEngineRelease());
  const vending = openVending(config);
  const native = loadNative();
  const now = Date.now;
  const issuerUrl = findOwnIssuer(config);
  const observed = await openTelemetry(config, open);
  const { telemetry } = observed;
  const lock = open.add(await lockFolders(config, outside, telemetry));
  const nodeId = chooseNodeId(config);
  const catalog = open.add(await openConfiguredCatalog(config, nodeId));
  const { membership, leases } = await joinNodes(config, { catalog, telemetry, nodeId });
  open.add(membership);
  const isNewCatalog = await ensureDefaultDatabase(catalog, storage.root);
  const adminKey = await ensureAdminKey(catalog, config, telemetry);
  if (issuerUrl !== undefined) await ensureSigningKey(catalog);
  const disk = outside.disk === undefined ? {} : { disk: outside.disk };
  const watchedTablesMax = limits.engine.openTablesMax;
  const storages = open.add(
    openStorages({ sync: storage.sync, watchedTablesMax, objects: toObjectSettings(config), ...disk }),
  );
  if (config.node.url !== undefined) await requireSharedRoots(catalog, config);
  const unusableRoots = await ensureRoots(catalog, storages, telemetry);
  const engine = open.add(await openConfiguredEngine(config, { ...observed, catalog, storages, native }));
  await lock.acquireDatabases(catalog, telemetry);
  const writes = open.add(await openWrites(config, outside, { ...observed, catalog, engine, storages, leases, lock }));
  const forwarder = open.add(
    openForwarder(config, { ...observed, nodeId, leases, catalog, writes, tracer: observed.exported?.tracer }),
  );
  connectMembership({ membership, forwarder, catalog, engine, writes });
  const authSettings = { ...config.auth, ownIssuer: issuerUrl };
  const authenticator = open.add(createAuthenticator(authSettings, catalog, now, (fetch) => telemetry.emit(fetch)));
  const jobs = open.add(openJobs(config, { catalog, telemetry, writes, nodeId }));
  const tuner = new Tuner({ engine, catalog, telemetry, now, limits: limits.index });
  const sizeQuotas = new SizeQuotas({ catalog, engine, telemetry, measureSeconds: limits.access.measureSeconds });
  const maintained = { engine, catalog, jobs, telemetry, tuner, writes, sizeQuotas };
  const maintenance = open.add(openMaintenance(config, maintained));
  const views = new Views({ engine, catalog, writes, jobs, sizeQuotas, checkDeclared, limits, now });
  return {
    ...observed,
    config,
    limits,
    lock,
    catalog,
    membership,
    leases,
    forwarder,
    nodes: openNodeList(config, { nodeId, catalog, forwarder }),
    isNewCatalog,
    unusableRoots,
    adminKey,
    storages,
    engine,
    writes,
    vending,
    writeGate: openWriteGate(lock),
    authenticator,
    issuerUrl,
    jobs,
    backfills: new Backfills({ engine, catalog, writes, jobs, sizeQuotas, limits }),
    views,
    viewSchedule: open.add(new ViewSchedule({ engine, catalog, writes, views, telemetry, limits: limits.views, now })),
    ...openIntegrations(config, { catalog, telemetry, open }),
    maintenance,
    tuner,
    filterShares: new FilterShares(engine),
    resultCache: new ResultCache(limits.query),
    sizeQuotas,
    slowQueries: open.add(new SlowQueries({ limits: limits.log, engine, telemetry, now })),
    load: createLoad(limits, (refusal) => telemetry.emit({ kind: 'quota-exceeded', ...refusal })),
    generateApiKey,
    generateClientSecret,
    generateSigningKey,
    allowedStorageOptions: storage.allowedCallerOptions,
    now,
    workerRestarts: outside.workerRestarts ?? 0,
    state: { isDraining: false },
  };
}

/** Failures of the collector itself only go to the log: sending them would cause the next failure. */
async function openTelemetry({ log, limits }: Config, open: OpenParts) {
  const metrics = new Metrics();
  const activity = new ActivityHistory(limits.log.activityPointsMax);
  const own = createTelemetry({ ...log, stream: openLogOutput(process.stderr), clock: Date.now });
  const exported = await openOpenTelemetry({
    variables: process.env,
    release: readRelease(),
    level: log.level,
    onFault: (cause) => own.emit({ kind: 'background-failed', task: 'OpenTelemetry', cause }),
  });
  const stream = open.add(batchLines(openLogOutput(process.stderr)));
  const count = (event: TelemetryEvent): void => {
    metrics.count(event);
    activity.count(event);
  };
  const readers = [count, ...(exported === undefined ? [] : [exported.read])];
  const telemetry = createTelemetry({ ...log, stream, clock: Date.now, readers });
  if (exported !== undefined) open.add(exported);
  open.add(watchEventLoop((milliseconds) => metrics.eventLoopDelayed(milliseconds)));
  const onEngineCall = (call: string, startedAt: number, endedAt: number): void => {
    metrics.engineCalled(call, endedAt - startedAt);
    exported?.engineCalled(call, startedAt, endedAt);
  };
  return { metrics, activity, exported, telemetry, onEngineCall };
}

type Observed = Awaited<ReturnType<typeof openTelemetry>>;

/** Before anything in the folders changes, including the catalog. */
async function lockFolders(
  config: Config,
  { supervisorPid = process.pid }: Outside,
  telemetry: Telemetry,
): Promise<ServerLock> {
  const { data, storage, limits } = config;
  return ServerLock.acquire({
    data,
    // Only the catalog knows whether a missing root had tables; if it is in PostgreSQL, the lock never creates a root.
    catalogFile: config.catalog.url === undefined ? config.catalogFile : join(data, 'server.lock'),
    root: storage.root,
    waitSeconds: storage.lockSeconds,
    telemetry,
    holder: {
      pid: supervisorPid,
      host: hostname(),
      address: `${config.host}:${config.port}`,
      url: localUrlOf(config, config),
      startedAt: new Date().toISOString(),
      drainSeconds: limits.http.drainNoticeSeconds + limits.http.drainSeconds,
    },
  });
}

function openWriteGate(lock: ServerLock): WriteGate {
  return new WriteGate(
    (root) => lock.requireRoot(root),
    () => lock.requireHeld(),
  );
}

async function openConfiguredEngine(
  { data, storage, limits }: Config,
  {
    catalog,
    storages,
    telemetry,
    onEngineCall,
    native,
  }: Observed & { readonly catalog: Catalog; readonly storages: Storages; readonly native: NativeEngine },
) {
  const settings = {
    limits: limits.engine,
    sqlLimits: limits.sql,
    storageOptions: storage.options,
    querySeconds: limits.query.seconds,
    readMemory: limits.query,
    storages,
    trials: { file: TRIAL_FILE, folder: join(data, 'trials'), seconds: limits.engine.trialSeconds },
    schemasFolder: join(data, 'schemas'),
    pollSeconds: storage.pollSeconds,
    onLaterVersion: async (tableId: string, version: number) => catalog.heads.advance(tableId, version),
    onQuarantine: (found: TornManifest) => telemetry.emit({ kind: 'manifest-quarantined', ...found }),
  };
  return watchEngine(await openEngine(settings, native), onEngineCall);
}

interface WritesParts extends Pick<WritesSettings, 'catalog' | 'engine' | 'storages'> {
  /** Absent on a single node. */
  readonly leases: TableLeases | undefined;
  readonly lock: ServerLock;
}

interface JobsParts extends Pick<WritesSettings, 'catalog' | 'telemetry'> {
  readonly writes: Writes;
  /** Absent on a single node. */
  readonly nodeId: string | undefined;
}

function openJobs({ limits }: Config, { catalog, telemetry, writes, nodeId }: JobsParts): Jobs {
  const hasTable = async (tableId: string): Promise<boolean> => catalog.tables.has(tableId);
  const owns = async (tableId: string): Promise<boolean> => {
    const table = await catalog.tables.findById(tableId);
    // A deleted table is detected elsewhere.
    return table === undefined || writes.owns(table);
  };
  const stores = { store: catalog.jobs, attempts: catalog.attempts };
  const shared = nodeId === undefined ? stores : { ...stores, owns };
  return new Jobs({ limits: limits.jobs, telemetry, now: Date.now, makeId: randomUUID, hasTable, shared });
}

interface IntegrationParts extends Pick<JobsParts, 'catalog' | 'telemetry'> {
  readonly open: OpenParts;
}

/** Connects the service with other programs. */
function openIntegrations(config: Config, { catalog, telemetry, open }: IntegrationParts) {
  const { limits, webhooks: settings } = config;
  const { timeoutSeconds } = limits.webhooks;
  const now = Date.now;
  const webhookSender = createWebhookSender({ ...settings, timeoutSeconds, now });
  const webhooks = { catalog, sender: webhookSender, telemetry, limits: limits.webhooks, now, random: Math.random };
  return {
    webhookSender,
    webhooks: open.add(new Webhooks(webhooks)),
    commitFeed: open.add(new CommitFeed({ catalog, telemetry, limits: limits.events })),
    embeddings: open.add(openEmbeddings(config, telemetry)),
  };
}

function openEmbeddings(config: Config, telemetry: Telemetry): Embeddings | undefined {
  const { url, apiKey, models } = config.embeddings;
  if (url === undefined) return undefined;
  const limits = config.limits.embeddings;
  return new Embeddings({ provider: createOpenAiProvider({ url, apiKey }, limits), models, limits, telemetry });
}

interface MaintenanceParts extends Pick<JobsParts, 'catalog' | 'telemetry' | 'writes'> {
  readonly engine: WritesSettings['engine'];
  readonly jobs: Jobs;
  readonly tuner: Tuner;
  readonly sizeQuotas: SizeQuotas;
}

function openMaintenance({ limits }: Config, { writes, sizeQuotas, ...parts }: MaintenanceParts): Maintenance {
  const maintenance = new Maintenance({
    ...parts,
    now: Date.now,
    limits: limits.maintenance,
    background: writes.background,
    owns: async (table) => writes.owns(table),
    onMaintained: async (table) => sizeQuotas.refresh(table),
  });
  writes.onCommit = async (table, { isAppend, mayChangeIndexes }) => {
    maintenance.recordCommit(table, { isAppend });
    if (mayChangeIndexes) await parts.tuner.forgetOutdated(table);
  };
  return maintenance;
}

async function openWrites(
  config: Config,
  { onWriteStep }: Outside,
  { metrics, onEngineCall, leases, lock, ...parts }: Observed & WritesParts,
): Promise<Writes> {
  // An earlier release marked responses in this file.
  await rm(`${config.catalogFile}-answers`, { force: true });
  return Writes.open({
    ...parts,
    coordination: leases ?? createSingleProcess(() => lock.requireHeld()),
    limits: config.limits,
    sync: config.storage.sync,
    marksFile: leases === undefined ? `${config.catalogFile}-marks` : undefined,
    spoolFolder: join(config.data, 'uploads'),
    onBatch({ kind, members, startedAt, endedAt }) {
      // Deferred, so that replies do not wait for the metrics.
      setImmediate(() => {
        metrics.writesCommitted(kind, members);
        onEngineCall(`commits.${kind}`, startedAt, endedAt);
      });
    },
    onStep: onWriteStep,
    now: Date.now,
  });
}
