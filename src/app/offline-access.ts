import { hostname } from 'node:os';
import { generateApiKey, generateClientSecret } from '../auth/keys/secrets.ts';
import { generateSigningKey } from '../auth/keys/signing-keys.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { JsonClient } from '../client/api-client.ts';
import { findOwnIssuer } from '../config/config.ts';
import type { Config } from '../config/config.ts';
import { ServerLock } from '../coordination/server-lock.ts';
import { WriteGate } from '../coordination/write-gate.ts';
import { ServiceError } from '../errors/service-error.ts';
import { decodeBody } from '../invoke/decode-body.ts';
import { invoke } from '../invoke/invoke.ts';
import type { Input } from '../invoke/invoke.ts';
import type { Caller } from '../model/access.ts';
import { DEFAULT_DELIMITER } from '../model/identifier.ts';
import type { Operation } from '../operations/operation.ts';
import { OPERATIONS } from '../operations/registry.ts';
import type { Services } from '../operations/services.ts';
import {
  ensureRoot,
  inspectConfiguredCatalog,
  openConfiguredCatalog,
  requireSharedRoot,
} from './configured-catalog.ts';
import { requireState } from './copy-catalog.ts';
import { requireServedRoot } from './installed-engine.ts';

export type OfflineAccess = Awaited<ReturnType<typeof openOfflineAccess>>;

/**
 * Access to a data folder that no server uses: executes the API's operations about keys, grants and the like in this
 * process, as an administrator. Refuses a folder without a catalog, because commands must not create one by mistake.
 */
export async function openOfflineAccess(config: Config) {
  requireState(config.catalog.url ?? config.catalogFile, await inspectConfiguredCatalog(config), ['current', 'older']);
  const lock = await lockData(config);
  try {
    const catalog = await openConfiguredCatalog(config);
    const close = async (): Promise<void> => {
      await catalog.close();
      lock.close();
    };
    return { ...createJsonClient(config, catalog), ...databasesOf(config, catalog), close };
  } catch (error) {
    lock.close();
    throw error;
  }
}

async function lockData({ data, catalog, catalogFile }: Config): Promise<ServerLock> {
  const holder = {
    pid: process.pid,
    host: hostname(),
    address: 'no port (offline command)',
    startedAt: new Date().toISOString(),
    drainSeconds: 0,
  };
  try {
    // A catalog in PostgreSQL is shared, so only the folder is locked.
    const file = catalog.url === undefined ? catalogFile : `${data}/catalog`;
    return await ServerLock.acquire({ data, catalogFile: file, waitSeconds: 0, holder });
  } catch (error) {
    if (!(error instanceof ServiceError) || error.cause !== undefined) throw error;
    throw new ServiceError(error.kind, error.message, {
      hint: 'Omit --data to use that server, or stop it first.',
    });
  }
}

const ADMINISTRATOR: Caller = {
  id: 'offline',
  kind: 'anonymous',
  grants: [{ role: 'admin', database: undefined, path: [] }],
};

function createJsonClient(config: Config, catalog: Catalog): JsonClient {
  const used: Partial<Services> = {
    catalog,
    limits: config.limits,
    telemetry: { emit: () => undefined },
    generateApiKey,
    generateClientSecret,
    generateSigningKey,
    issuerUrl: findOwnIssuer(config),
    now: Date.now,
  };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Operations about access use nothing else.
  const services = used as Services;
  const writeGate = new WriteGate(() => undefined);
  return {
    async json<Reply>(path: string, call: { readonly json?: unknown } = {}): Promise<Reply> {
      const operation = requireOperation(path);
      const body = decodeBody(operation, throughJson(Object(call.json ?? {})), 'lance', services);
      const reply = await invoke(operation, ADMINISTRATOR, { ...INPUT, address: path, body }, { services, writeGate });
      if (reply.kind !== 'object') throw new Error(`The reply of ${operation.id} is not an object.`);
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Callers name the shape that the operation gives to its reply.
      return throughJson(reply.body) as Reply;
    },
  };
}

function requireOperation(path: string): Operation {
  const found = OPERATIONS.find((operation) => operation.path === path && operation.target === 'server');
  if (found === undefined) throw new Error(`No access operation has the path ${path}.`);
  return found;
}

/** Converts a value as if it had been sent over a connection. */
function throughJson(value: object): Record<string, unknown> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- An object stays one.
  return JSON.parse(JSON.stringify(value)) as Record<string, unknown>;
}

const INPUT: Omit<Input, 'body' | 'address'> = {
  arrivedAt: Number.POSITIVE_INFINITY,
  requestId: 'offline',
  dialect: 'lance',
  delimiter: DEFAULT_DELIMITER,
  prefix: [],
  params: {},
  query: {},
  queryLists: {},
  header: () => undefined,
  signal: () => new AbortController().signal,
  renamedSeconds: 0,
};

/** The owner of the folder chooses where tables are stored, and may see it. */
function databasesOf(config: Config, { databases }: Catalog) {
  return {
    async createDatabase(name: string, wanted: string | undefined): Promise<{ name: string; root: string }> {
      if (wanted !== undefined) {
        requireServedRoot(wanted);
        requireSharedRoot(name, wanted, config);
      }
      const { root } = await databases.create({ name, root: wanted });
      await ensureRoot(root, config).catch(async (error: unknown) => {
        await databases.drop(name);
        throw error;
      });
      return { name, root };
    },
    async listDatabases(): Promise<{ name: string; root: string }[]> {
      return (await databases.list()).map(({ name, root }) => ({ name, root }));
    },
  };
}
