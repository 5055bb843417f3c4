import { readFile } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { takeAbandoned } from './app/nodes.ts';
import { OpenParts, openParts } from './app/parts.ts';
import type { AppParts, Outside } from './app/parts.ts';
import { takeReadings } from './app/readings.ts';
import { finishWork } from './app/shutdown.ts';
import { adoptTables, sweepUnfinished } from './app/startup.ts';
import { createTokenEndpoint } from './auth/issuer/token-endpoint.ts';
import { TOKEN_ENDPOINT_PATH } from './config/config.ts';
import type { Config } from './config/config.ts';
import { isTransientFailure, recoverWrites } from './coordination/recover-writes.ts';
import type { RecoveryStep } from './coordination/recover-writes.ts';
import type { EngineRelease } from './engine/engine.ts';
import { createHttpServer } from './http/server.ts';
import type { HttpServer } from './http/server.ts';
import { endsWithin } from './model/time/ends-within.ts';
import { CONSOLE_FILE, readRelease } from './release.ts';
import type { Readings } from './telemetry/metrics/metric-rows.ts';

export type { Outside } from './app/parts.ts';

/** A running service without a port: it is given connections. */
export type App = Awaited<ReturnType<typeof joinParts>>;

export interface AppReady {
  /** Present only if it was just created: it is shown once. */
  readonly adminKey: string | undefined;
  readonly adopted: number;
  readonly swept: number;
  readonly databases: number;
  readonly engine: EngineRelease;
}

/** Opens and connects all parts. They are closed in reverse order, even if a later one fails to open. */
export async function startApp(config: Config, outside: Outside = {}): Promise<App> {
  const open = new OpenParts();
  try {
    return await joinParts(await openParts(config, outside, open), open);
  } catch (error) {
    await open.close();
    throw error;
  }
}

async function joinParts(parts: AppParts, open: OpenParts) {
  const { config, catalog, writes, engine, maintenance, jobs, viewSchedule, webhooks, adminKey } = parts;
  const databases = await catalog.databases.list();
  const recovered = { swept: 0, adopted: 0 };
  const steps = listRecoverySteps(parts, recovered);
  const onDone = (): void => {
    maintenance.start();
    jobs.startResuming();
    viewSchedule.start();
    webhooks.start();
  };
  open.add(await recoverWrites({ steps, gate: parts.writeGate, telemetry: parts.telemetry, onDone }));
  const server = open.add(await openHttp(parts));
  takeAbandoned(parts);
  open.add(parts.activity.follow(() => readingsOf(parts, server), Date.now));
  const ready: AppReady = { ...recovered, databases: databases.length, adminKey, engine: { ...engine.release } };
  return {
    ready,
    accept: (socket: Socket): void => server.accept(socket),
    /** A call through the engine, for which the supervisor's watchdog waits. */
    async probe(): Promise<void> {
      writes.queues.requireMoving();
      await engine.probe();
    },
    /** Lets running requests finish within the drain time, then closes everything. */
    async drain(): Promise<void> {
      parts.state.isDraining = true;
      parts.lock.markDraining();
      const { drainNoticeSeconds, drainSeconds } = config.limits.http;
      // Load balancers see that the server is not ready before it refuses anything.
      if (drainNoticeSeconds > 0) await sleep(drainNoticeSeconds * 1000);
      server.closeIdleConnections();
      await finishWork(parts, drainSeconds);
      await open.close();
    },
  };
}

/** What must be done before the first write. */
function listRecoverySteps(parts: AppParts, recovered: { swept: number; adopted: number }): readonly RecoveryStep[] {
  const { writes, leases } = parts;
  const sweep = [
    async () => void (recovered.swept = await sweepUnfinished(parts)),
    async () => void (recovered.adopted = await adoptTables(parts)),
  ];
  // In a cluster, the node that takes a table over resolves its pending writes.
  if (leases !== undefined) return sweep;
  return [
    async () => {
      const failures = await writes.inDoubtWrites.resolvePending();
      for (const failure of failures) if (failure instanceof Error && isTransientFailure(failure)) throw failure;
    },
    async () => writes.responses.recover(),
    ...sweep,
  ];
}

async function openHttp(parts: AppParts): Promise<HttpServer> {
  const { config, issuerUrl: issuer, catalog, state } = parts;
  const release = readRelease();
  const server: HttpServer = await createHttpServer({
    ...parts,
    services: parts,
    release,
    consoleFile: fileURLToPath(CONSOLE_FILE),
    basePath: config.basePath,
    host: config.host,
    hostSuffix: config.hostSuffix,
    allowedHosts: config.mcp.allowedHosts,
    mcp: config.mcp,
    trustedProxies: config.http.trustedProxies,
    tls: await readTls(config),
    tracer: parts.exported?.tracer,
    tokenEndpoint:
      issuer === undefined ? undefined : createTokenEndpoint({ ...config.auth, issuer }, catalog, Date.now),
    tokenEndpointPath: TOKEN_ENDPOINT_PATH,
    isDraining: () => state.isDraining,
    findFault: createReadiness(parts),
    metrics: {
      access: config.metrics.access,
      read: async () => parts.metrics.read(readingsOf(parts, server)),
      history: () => parts.activity.list(),
    },
  });
  return server;
}

/** Load balancers wait a few seconds for a probe; without a reply they would not see the reason. */
const CATALOG_SECONDS = 2;
const NO_CATALOG = 'the catalog is unavailable';

type ReadinessParts = Pick<AppParts, 'catalog' | 'lock' | 'membership' | 'state'>;

/** Why requests should go to another node; `undefined` if this one can serve them. For `/readyz`. */
function createReadiness({ catalog, lock, membership, state }: ReadinessParts): () => Promise<string | undefined> {
  let pinging: Promise<void> | undefined;
  // Shared, so that probes do not pile up while the catalog does not respond.
  const ping = async (): Promise<void> => {
    pinging ??= catalog.ping().finally(() => {
      pinging = undefined;
    });
    return pinging;
  };
  return async () => {
    if (state.isDraining) return 'shutting down';
    if (lock.isLost()) return 'the data folder or the storage root was removed or replaced';
    if (membership?.isLapsed === true) return 'this node sent no heartbeats for longer than its lease';
    return endsWithin(CATALOG_SECONDS, ping()).then(
      (isReached) => (isReached ? undefined : NO_CATALOG),
      () => NO_CATALOG,
    );
  };
}

function readingsOf(parts: AppParts, server: HttpServer): Readings {
  return takeReadings(parts, { release: readRelease(), connections: server.connections() });
}

async function readTls({ tls }: Config): Promise<{ cert: Buffer; key: Buffer } | undefined> {
  if (tls === undefined) return undefined;
  const [cert, key] = await Promise.all([readFile(tls.certFile), readFile(tls.keyFile)]);
  return { cert, key };
}
