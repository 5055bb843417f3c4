import { readFile } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { OpenParts, openParts } from './app/parts.ts';
import type { AppParts, Outside } from './app/parts.ts';
import { takeReadings } from './app/readings.ts';
import { finishWork } from './app/shutdown.ts';
import { adoptTables, sweepUnfinished } from './app/startup.ts';
import { createTokenEndpoint } from './auth/issuer/token-endpoint.ts';
import type { TokenEndpoint } from './auth/issuer/token-endpoint.ts';
import { generateApiKey, generateClientSecret } from './auth/keys/secrets.ts';
import { TOKEN_ENDPOINT_PATH, findOwnIssuer } from './config/config.ts';
import type { Config } from './config/config.ts';
import { isTransientFailure, recoverWrites } from './coordination/recover-writes.ts';
import type { RecoveryStep } from './coordination/recover-writes.ts';
import { RateLimit } from './http/admission/rate-limit.ts';
import { createHttpServer } from './http/server.ts';
import type { HttpServer } from './http/server.ts';
import { CONSOLE_FOLDER, readRelease } from './release.ts';

export type { Outside } from './app/parts.ts';

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
  /** Only when it was created just now: it is shown once. */
  readonly adminKey?: string;
  readonly adopted: number;
  readonly swept: number;
  readonly databases: number;
}

/** Joins all parts. They are closed in reverse order, also when a later one fails to open. */
export async function startApp(config: Config, outside: Outside = {}): Promise<App> {
  const open = new OpenParts();
  try {
    return await joinParts(await openParts(config, outside, open), open);
  } catch (error) {
    await open.close();
    throw error;
  }
}

async function joinParts(parts: AppParts, open: OpenParts): Promise<App> {
  const { config, catalog, writes, engine, maintenance, adminKey } = parts;
  const databases = await catalog.databases.list();
  const recovered = { swept: 0, adopted: 0 };
  const steps = listRecoverySteps(parts, recovered);
  const onDone = (): void => maintenance.start();
  open.add(await recoverWrites({ steps, gate: parts.writeGate, telemetry: parts.telemetry, onDone }));
  const server = open.add(await openHttp(parts));
  return {
    ready: { ...recovered, databases: databases.length, ...(adminKey === undefined ? {} : { adminKey }) },
    accept: (socket) => server.accept(socket),
    async probe() {
      writes.queues.requireMoving();
      await engine.probe();
    },
    async drain() {
      parts.state.isDraining = true;
      parts.lock.markDraining();
      server.closeIdleConnections();
      await finishWork(parts, config.limits.http.drainSeconds);
      await open.close();
    },
  };
}

/** What must be done before the first write. */
function listRecoverySteps(parts: AppParts, recovered: { swept: number; adopted: number }): readonly RecoveryStep[] {
  const { writes } = parts;
  return [
    async () => {
      const failures = await writes.inDoubtWrites.resolvePending();
      for (const failure of failures) if (failure instanceof Error && isTransientFailure(failure)) throw failure;
    },
    async () => writes.responses.recover(),
    async () => void (recovered.swept = await sweepUnfinished(parts)),
    async () => void (recovered.adopted = await adoptTables(parts)),
  ];
}

/** How many callers' rates are remembered at once. */
const RATED_CALLERS_MAX = 10_000;

async function openHttp(parts: AppParts): Promise<HttpServer> {
  const { config, catalog, state } = parts;
  const { limits } = config;
  const release = readRelease();
  const server: HttpServer = await createHttpServer({
    release,
    consoleFolder: fileURLToPath(CONSOLE_FOLDER),
    basePath: config.basePath,
    hostSuffix: config.hostSuffix,
    tls: await readTls(config),
    tracer: parts.exported?.tracer,
    limits,
    authenticator: parts.authenticator,
    tokenEndpoint: openTokenEndpoint(parts),
    tokenEndpointPath: TOKEN_ENDPOINT_PATH,
    load: parts.load,
    writeGate: parts.writeGate,
    rateLimit: new RateLimit({
      requestsPerSecond: limits.http.rateRequestsPerSecond,
      callersMax: RATED_CALLERS_MAX,
      now: () => performance.now(),
    }),
    services: {
      engine: parts.engine,
      catalog,
      jobs: parts.jobs,
      maintenance: parts.maintenance,
      slowQueries: parts.slowQueries,
      telemetry: parts.telemetry,
      writes: parts.writes,
      limits,
      allowedStorageOptions: config.storage.allowedCallerOptions,
      generateApiKey,
      generateClientSecret,
      issuerUrl: findOwnIssuer(config),
      now: Date.now,
    },
    isDraining: () => state.isDraining,
    health: { fault: async () => findFault(parts) },
    metrics: {
      access: config.metrics.access,
      read: async () => parts.metrics.read(takeReadings(parts, { release, connections: server.connections() })),
    },
  });
  return server;
}

function openTokenEndpoint({ config, catalog }: AppParts): TokenEndpoint | undefined {
  const issuer = findOwnIssuer(config);
  if (issuer === undefined) return undefined;
  const lookup = {
    findClient: (id: string) => catalog.clients.find(id),
    isSecretOf: (id: string, digest: string) => catalog.clients.matches(id, digest),
    signingKeys: () => catalog.signingKeys.list(),
  };
  return createTokenEndpoint({ ...config.auth, issuer }, lookup, Date.now);
}

async function findFault({ catalog, state }: AppParts): Promise<string | undefined> {
  if (state.isDraining) return 'shutting down';
  try {
    await catalog.ping();
    return undefined;
  } catch {
    return 'the catalog is not available';
  }
}

async function readTls({ tls }: Config): Promise<{ cert: Buffer; key: Buffer } | undefined> {
  if (tls === undefined) return undefined;
  const [cert, key] = await Promise.all([readFile(tls.certFile), readFile(tls.keyFile)]);
  return { cert, key };
}
