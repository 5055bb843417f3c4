import { fileURLToPath } from 'node:url';
import { randomUUID } from 'node:crypto';
import { readFile, rm } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { generateApiKey, generateClientSecret } from './auth/keys/secrets.ts';
import { createAuthenticator } from './auth/authenticator.ts';
import type { Authenticator } from './auth/authenticator.ts';
import { createTokenEndpoint } from './auth/issuer/token-endpoint.ts';
import type { TokenEndpoint } from './auth/issuer/token-endpoint.ts';
import type { Catalog } from './catalog/catalog.ts';
import type { Config } from './config/config.ts';
import { TOKEN_ENDPOINT_PATH, findOwnIssuer } from './config/config.ts';
import { openConfiguredCatalog, ensureRoots } from './app/offline.ts';
import { createSingleProcess } from './coordination/coordination.ts';
import { recoverWrites, isTransientFailure } from './coordination/recover-writes.ts';
import type { RecoveryStep } from './coordination/recover-writes.ts';
import { WriteGate } from './coordination/write-gate.ts';
import { openEngine } from './engine/engine.ts';
import type { Engine } from './engine/engine.ts';
import { watchEngine } from './engine/watched-engine.ts';
import { RateLimit } from './http/admission/rate-limit.ts';
import { createLoad } from './http/admission/load.ts';
import type { Load } from './http/admission/load.ts';
import { createHttpServer } from './http/server.ts';
import type { HttpServer } from './http/server.ts';
import { Jobs } from './jobs/jobs.ts';
import { lockDatabases, lockFolders } from './locked-folders.ts';
import { finishWork } from './app/shutdown.ts';
import {
  ensureAdminKey,
  ensureDefaultDatabase,
  ensureSigningKey,
  adoptTables,
  sweepUnfinished,
} from './app/startup.ts';
import { Maintenance } from './maintenance/maintenance.ts';
import { CONSOLE_FOLDER, readRelease } from './release.ts';
import { takeReadings } from './app/readings.ts';
import { SlowQueries } from './slow-queries/slow-queries.ts';
import { openStorages } from './storage/storages.ts';
import type { StorageSettings, Storages } from './storage/storages.ts';
import { Metrics, watchEventLoop } from './telemetry/metrics/metrics.ts';
import type { TelemetryEvent } from './telemetry/events.ts';
import { batchLines, openLogOutput } from './telemetry/log/log-output.ts';
import type { OpenTelemetry } from './telemetry/traces/otel-settings.ts';
import { createTelemetry, openOpenTelemetry } from './telemetry/telemetry.ts';
import type { Telemetry } from './telemetry/telemetry.ts';
import { Writes } from './writes/writes.ts';
import type { OnWriteStep } from './writes/writes.ts';

/** A running service, without a port: connections are handed to it. */
export interface App {
  readonly ready: AppReady;
  accept(socket: Socket): void;
  /** A call through the engine; the watchdog of the supervisor waits for it. */
  probe(): Promise<void>;
  /** Lets running requests finish, for as long as the drain time allows, then closes everything. */
  drain(): Promise<void>;
}

export interface AppReady {
  /** Only when it was made just now: it is shown once. */
  readonly adminKey?: string;
  readonly adopted: number;
  readonly swept: number;
  readonly databases: number;
}

/** What the service is told of the world around it; a test may replace it. */
export interface Outside extends Pick<StorageSettings, 'disk'> {
  /** How many workers were replaced before this one. */
  readonly workerRestarts?: number;
  /** Of the process that a signal stops. */
  readonly supervisorPid?: number;
  /** Called when a step of the commit protocol starts. */
  readonly onWriteStep?: OnWriteStep;
}

/** How many callers' rates are remembered at once. */
const RATED_CALLERS_MAX = 10_000;

/** The only place where the parts are joined. They are closed in reverse order, also when a later one fails to open. */
export async function startApp(config: Config, outside: Outside = {}): Promise<App> {
  const parts = new Parts();
  try {
    return await joinParts(config, parts, outside);
  } catch (error) {
    await parts.close();
    throw error;
  }
}

async function joinParts(config: Config, parts: Parts, outside: Outside): Promise<App> {
  const metrics = new Metrics();
  const exported = await openExported(config);
  const readers = [(event: TelemetryEvent) => metrics.count(event), ...(exported === undefined ? [] : [exported.read])];
  const stream = parts.add(batchLines(openLogOutput(process.stderr)));
  const telemetry = createTelemetry({ ...config.log, stream, clock: Date.now, readers });
  if (exported !== undefined) parts.add(exported);
  parts.add(watchEventLoop((milliseconds) => metrics.eventLoopDelayed(milliseconds)));
  const lock = parts.add(await lockFolders(config, outside.supervisorPid ?? process.pid));
  const catalog = parts.add(await openConfiguredCatalog(config));
  const isNewCatalog = await ensureDefaultDatabase(catalog, config.storage.root);
  const adminKey = await ensureAdminKey(catalog, config);
  if (findOwnIssuer(config) !== undefined) await ensureSigningKey(catalog);
  const storages = parts.add(openConfiguredStorages(config, outside));
  await ensureRoots(catalog, storages, telemetry);
  const engine = parts.add(await openConfiguredEngine(config, storages, { telemetry, metrics, exported }));
  await lockDatabases(lock, catalog, telemetry);
  const writeGate = new WriteGate((root) => lock.requireRoot(root));
  const writes = parts.add(
    await openWrites(config, outside, { catalog, engine, storages, telemetry, metrics, exported }),
  );
  const authenticator = parts.add(openAuthenticator(config, catalog));
  const databases = await catalog.databases.list();

  const load = createLoad(config.limits, () => performance.now());
  const state = { isDraining: false };
  const jobs = parts.add(openJobs(config, catalog, telemetry));
  const maintenance = parts.add(
    new Maintenance({
      limits: config.limits.maintenance,
      engine,
      background: writes.background,
      catalog,
      jobs,
      telemetry,
      now: Date.now,
    }),
  );
  writes.onCommit((table) => maintenance.recordCommit(table));
  const { workerRestarts = 0 } = outside;
  const slowQueries = parts.add(new SlowQueries({ limits: config.limits.log, engine, telemetry, now: Date.now }));
  const joined = {
    config,
    slowQueries,
    metrics,
    exported,
    workerRestarts,
    telemetry,
    catalog,
    engine,
    writes,
    storages,
    jobs,
    maintenance,
    authenticator,
    load,
    writeGate,
    state,
  };
  const recovered = { swept: 0, adopted: 0 };
  const steps = listRecoverySteps(joined, isNewCatalog, recovered);
  parts.add(await recoverWrites({ steps, gate: writeGate, telemetry, onDone: () => maintenance.start() }));
  const server = parts.add(await openHttp(joined));
  return {
    ready: { ...recovered, databases: databases.length, ...(adminKey === undefined ? {} : { adminKey }) },
    accept: (socket) => server.accept(socket),
    async probe() {
      writes.requireMoving();
      await engine.probe();
    },
    async drain() {
      state.isDraining = true;
      lock.markDraining();
      server.closeIdleConnections();
      await finishWork(joined, config.limits.http.drainSeconds);
      await parts.close();
    },
  };
}

/** What must be done before the first write; what it finds is counted. */
function listRecoverySteps(
  { catalog, engine, writes, telemetry }: Joined,
  isNewCatalog: boolean,
  recovered: { swept: number; adopted: number },
): readonly RecoveryStep[] {
  return [
    async () => {
      const failures = await writes.resolvePending();
      for (const failure of failures) if (failure instanceof Error && isTransientFailure(failure)) throw failure;
    },
    async () => writes.recoverResponses(),
    async () => void (recovered.swept = await sweepUnfinished({ catalog, engine, writes, telemetry })),
    async () => void (recovered.adopted = await adoptTables(catalog, engine, telemetry, isNewCatalog)),
  ];
}

/** Traces and logs for a collector. What goes wrong with them is told by the log alone, or it would be sent in a ring. */
async function openExported({ log }: Config): Promise<OpenTelemetry | undefined> {
  const own = createTelemetry({ ...log, stream: openLogOutput(process.stderr), clock: Date.now });
  return openOpenTelemetry({
    variables: process.env,
    release: readRelease(),
    level: log.level,
    onFault: (cause) => own.emit({ kind: 'background-failed', task: 'OpenTelemetry', cause }),
  });
}

function openConfiguredStorages(config: Config, { disk }: Outside): Storages {
  const watchedTablesMax = config.limits.engine.openTablesMax;
  return openStorages({ sync: config.storage.sync, watchedTablesMax, ...(disk === undefined ? {} : { disk }) });
}

async function openConfiguredEngine(
  config: Config,
  storages: Storages,
  { telemetry, metrics, exported }: Pick<Joined, 'telemetry' | 'metrics' | 'exported'>,
): Promise<Engine> {
  const engine = await openEngine({
    limits: config.limits.engine,
    storageOptions: config.storage.options,
    querySeconds: config.limits.query.seconds,
    storages,
    onQuarantine: (found) => telemetry.emit({ kind: 'manifest-quarantined', ...found }),
  });
  return watchEngine(engine, (call, startedAt, endedAt) => {
    metrics.engineCalled(call, endedAt - startedAt);
    exported?.engineCalled(call, startedAt, endedAt);
  });
}

interface WriteDependencies extends Pick<Joined, 'catalog' | 'engine' | 'telemetry' | 'metrics' | 'exported'> {
  readonly storages: Storages;
}

async function openWrites(
  config: Config,
  { onWriteStep }: Outside,
  { catalog, engine, storages, telemetry, metrics, exported }: WriteDependencies,
): Promise<Writes> {
  // The former release marked responses in this file.
  await rm(`${config.catalogFile}-answers`, { force: true });
  return Writes.open({
    engine,
    storages,
    catalog,
    coordination: createSingleProcess(),
    telemetry,
    limits: config.limits,
    sync: config.storage.sync,
    marksFile: `${config.catalogFile}-marks`,
    spoolFolder: join(config.data, 'uploads'),
    onBatch({ kind, members, startedAt, endedAt }) {
      metrics.writesCommitted(kind, members);
      metrics.engineCalled(`commits.${kind}`, endedAt - startedAt);
      exported?.engineCalled(`commits.${kind}`, startedAt, endedAt);
    },
    onStep: onWriteStep,
    now: Date.now,
  });
}

function openJobs({ limits }: Config, catalog: Catalog, telemetry: Telemetry): Jobs {
  const hasTable = async (tableId: string): Promise<boolean> => catalog.tables.has(tableId);
  return new Jobs({ limits: limits.jobs, telemetry, now: Date.now, makeId: randomUUID, hasTable });
}

function openAuthenticator(config: Config, catalog: Catalog): Authenticator {
  const lookup = {
    findByDigest: (digest: string) => catalog.keys.findByDigest(digest),
    grantsOf: (principal: string) => catalog.grants.of(principal),
    findClient: (id: string) => catalog.clients.find(id),
    signingKeys: () => catalog.signingKeys.list(),
  };
  return createAuthenticator({ ...config.auth, ownIssuer: findOwnIssuer(config) }, lookup, Date.now);
}

function openTokenEndpoint(config: Config, catalog: Catalog): TokenEndpoint | undefined {
  const issuer = findOwnIssuer(config);
  if (issuer === undefined) return undefined;
  const lookup = {
    findClient: (id: string) => catalog.clients.find(id),
    isSecretOf: (id: string, digest: string) => catalog.clients.matches(id, digest),
    signingKeys: () => catalog.signingKeys.list(),
  };
  return createTokenEndpoint({ ...config.auth, issuer }, lookup, Date.now);
}

interface Joined {
  readonly config: Config;
  readonly telemetry: Telemetry;
  readonly metrics: Metrics;
  readonly exported: OpenTelemetry | undefined;
  readonly workerRestarts: number;
  readonly catalog: Catalog;
  readonly engine: Engine;
  readonly writes: Writes;
  readonly storages: Storages;
  readonly jobs: Jobs;
  readonly maintenance: Maintenance;
  readonly slowQueries: SlowQueries;
  readonly authenticator: Authenticator;
  readonly load: Load;
  readonly writeGate: WriteGate;
  readonly state: { readonly isDraining: boolean };
}

async function openHttp(joined: Joined): Promise<HttpServer> {
  const { config, catalog, engine, jobs, maintenance, telemetry, authenticator, load, state } = joined;
  const { limits } = config;
  const release = readRelease();
  const server: HttpServer = await createHttpServer({
    release,
    consoleFolder: fileURLToPath(CONSOLE_FOLDER),
    basePath: config.basePath,
    hostSuffix: config.hostSuffix,
    tls: await readTls(config),
    tracer: joined.exported?.tracer,
    limits,
    authenticator,
    tokenEndpoint: openTokenEndpoint(config, catalog),
    tokenEndpointPath: TOKEN_ENDPOINT_PATH,
    load,
    writeGate: joined.writeGate,
    rateLimit: new RateLimit({
      requestsPerSecond: limits.http.rateRequestsPerSecond,
      callersMax: RATED_CALLERS_MAX,
      now: () => performance.now(),
    }),
    services: {
      engine,
      catalog,
      jobs,
      maintenance,
      slowQueries: joined.slowQueries,
      telemetry,
      writes: joined.writes,
      limits,
      allowedStorageOptions: config.storage.allowedCallerOptions,
      secrets: { makeKey: generateApiKey, generateClientSecret },
      issuerUrl: findOwnIssuer(config),
      now: Date.now,
    },
    isDraining: () => state.isDraining,
    health: { fault: () => findFault(catalog, state) },
    metrics: {
      access: config.metrics.access,
      read: async () =>
        joined.metrics.read(takeReadings({ ...joined, release, connections: () => server.connections() })),
    },
  });
  return server;
}

async function findFault(catalog: Catalog, state: { readonly isDraining: boolean }): Promise<string | undefined> {
  if (state.isDraining) return 'shutting down';
  try {
    await catalog.ping();
    return undefined;
  } catch {
    return 'the catalog is not available';
  }
}

async function readTls(config: Config): Promise<{ cert: Buffer; key: Buffer } | undefined> {
  if (config.tls === undefined) return undefined;
  const [cert, key] = await Promise.all([readFile(config.tls.certFile), readFile(config.tls.keyFile)]);
  return { cert, key };
}

interface Closeable {
  close(): Promise<void> | void;
}

class Parts {
  private readonly open: Closeable[] = [];

  add<Part extends Closeable>(part: Part): Part {
    this.open.push(part);
    return part;
  }

  async close(): Promise<void> {
    for (let part = this.open.pop(); part !== undefined; part = this.open.pop()) await part.close();
  }
}
