import { hostname } from 'node:os';
import type { Catalog } from './catalog/catalog.ts';
import type { Config } from './config/config.ts';
import { ServerLock, isUnlockable } from './coordination/server-lock.ts';
import type { Telemetry } from './telemetry/telemetry.ts';

/** What must be locked before anything in it is changed, the catalog included. */
export async function lockFolders(config: Config, pid: number): Promise<ServerLock> {
  const { data, catalogFile, storage, limits } = config;
  const lock = await ServerLock.acquire({
    data,
    catalogFile,
    waitSeconds: storage.lockSeconds,
    holder: {
      pid,
      host: hostname(),
      address: `${config.host}:${config.port}`,
      startedAt: new Date().toISOString(),
      drainSeconds: limits.http.drainSeconds,
    },
  });
  try {
    await lock.acquireRoot(storage.root);
  } catch (error) {
    lock.close();
    throw error;
  }
  return lock;
}

/**
 * The other roots, which only the catalog knows. One that another server uses prevents the start. One that cannot be
 * locked does not: its tables are read, and writes to them are refused until it can be.
 */
export async function lockDatabases(lock: ServerLock, catalog: Catalog, telemetry: Telemetry): Promise<void> {
  for (const { name, root } of await catalog.databases.list()) {
    try {
      await lock.acquireRoot(root);
    } catch (cause) {
      if (!isUnlockable(cause)) throw cause;
      telemetry.emit({ kind: 'background-failed', task: `locking the storage root of the database ${name}`, cause });
    }
  }
}
