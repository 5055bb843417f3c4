import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startApp } from '../../src/app.ts';
import type { App, Outside } from '../../src/app.ts';
import type { Config } from '../../src/config/config.ts';
import { loadConfig } from '../../src/config/load-config.ts';
import { S3Emulator } from './s3/s3-emulator.ts';

export const ADMIN_KEY = 'test-administrator-key-of-enough-length';

/** A service that is reached over HTTP: one process, or several nodes. */
export interface TestService {
  readonly url: string;
  readonly config: Config;
  readonly folder: string;
  close(): Promise<void>;
}

export interface TestServer extends TestService {
  readonly app: App;
}

export interface TestServerOptions {
  /** Flags beside the data folder, such as `--sql-operators-max=10`. */
  readonly flags?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** A folder to serve; it is then left alone at the end. */
  readonly folder?: string;
  readonly outside?: Outside;
}

/** The whole service in this process, with its own port and folder. */
export async function startServer(options: TestServerOptions = {}): Promise<TestServer> {
  const folder = options.folder ?? (await mkdtemp(join(tmpdir(), 'tiltyard-test-')));
  const sockets = new Set<Socket>();
  const accepted: { app?: App } = {};
  const listener = createServer({ pauseOnConnect: true }, (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    accepted.app?.accept(socket);
    socket.resume();
  });
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  const { port } = listener.address() as AddressInfo;
  // As the supervisor does: the supervisor passes the port to the service.
  const store = await startStore(options);
  const flags = [...(options.flags ?? []), ...(store?.flags ?? [])];
  const config = { ...requireTestConfig(folder, { ...options, flags }), port };
  const app = await startApp(config, options.outside).catch((error: unknown) => {
    listener.close();
    store?.close();
    throw error;
  });
  accepted.app = app;
  return {
    url: `http://127.0.0.1:${port}`,
    config,
    folder,
    app,
    async close() {
      listener.close();
      await app.drain();
      for (const socket of sockets) socket.destroy();
      store?.close();
      if (options.folder === undefined) await rm(folder, { recursive: true, force: true });
    },
  };
}

/** With `TILTYARD_TEST_STORE=s3`, tables are on an object store unless the test says where. */
async function startStore({ flags = [], folder }: TestServerOptions) {
  const isLocal = folder !== undefined || flags.some((flag) => flag.startsWith('--storage-root'));
  if (process.env['TILTYARD_TEST_STORE'] !== 's3' || isLocal) return undefined;
  const emulator = await S3Emulator.start({ after: () => {} });
  const options = `--storage-options=${JSON.stringify(emulator.storageOptions)}`;
  return { flags: ['--storage-root=s3://tables/root', options], close: () => emulator.close() };
}

export function requireTestConfig(folder: string, options: TestServerOptions): Config {
  const flags = options.flags ?? [];
  const quiet = flags.some((flag) => flag.startsWith('--log-level=')) ? [] : ['--log-level=error'];
  const loaded = loadConfig({
    argv: [folder, ...quiet, ...flags],
    env: { TILTYARD_ADMIN_KEY: ADMIN_KEY, ...options.env },
    readFile: () => {
      throw new Error('no configuration file in tests');
    },
  });
  if ('faults' in loaded) throw new Error(loaded.faults.join('\n'));
  return loaded.config;
}
