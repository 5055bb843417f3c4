import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Cluster } from '../test/support/cluster.ts';
import { withoutPostgres } from '../test/support/postgres.ts';
import { startServerProcess } from '../test/support/server-process.ts';
import type { ClientService, ServiceKind, Skipped } from './client.ts';

export interface RunningService extends ClientService {
  close(): Promise<void>;
}

const KEY_BYTES = 24;
const DATABASE = 'default';

/** A fresh service with nothing in it: one server, or three nodes behind a load balancer. */
export async function startClientService(kind: ServiceKind, isShort: boolean): Promise<RunningService> {
  const root = await mkdtemp(join(tmpdir(), 'tiltyard-clients-'));
  const [data, folder] = [join(root, 'data'), join(root, 'scratch')];
  await mkdir(folder);
  const key = randomBytes(KEY_BYTES).toString('hex');
  const started = kind === 'nodes' ? await startNodes(data, key) : await startOne(data, key);
  return {
    url: started.url,
    storeEnv: started.storeEnv,
    key,
    database: DATABASE,
    folder,
    kind,
    isShort,
    async close() {
      await started.close();
      await rm(root, { recursive: true, force: true });
    },
  };
}

export function whyNoService(kind: ServiceKind): Skipped | undefined {
  return kind === 'nodes' && withoutPostgres !== false ? { skipped: withoutPostgres } : undefined;
}

interface Started {
  readonly url: string;
  readonly storeEnv: ClientService['storeEnv'];
  close(): Promise<unknown>;
}

async function startOne(data: string, key: string): Promise<Started> {
  const server = await startServerProcess(data, [], { TILTYARD_ADMIN_KEY: key });
  return { url: server.url, storeEnv: {}, close: async () => server.stop() };
}

/** Clients are compared on busy machines, where a node must not count as dead at once. */
const LEASE_SECONDS = 15;

async function startNodes(data: string, key: string): Promise<Started> {
  const cluster = await Cluster.start({ folder: data, adminKey: key, leaseSeconds: LEASE_SECONDS });
  const storeEnv = toAwsVariables(cluster.store.storageOptions);
  return { url: cluster.balancer.url, storeEnv, close: async () => cluster.close() };
}

/** `aws_region` as `AWS_REGION`, and `allow_http` as `AWS_ALLOW_HTTP`. */
function toAwsVariables(options: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(options).map(([name, value]) => [`AWS_${name.replace(/^aws_/, '')}`.toUpperCase(), value]),
  );
}
