import { randomUUID } from 'node:crypto';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { digestSecret, generateApiKey } from '../auth/keys/secrets.ts';
import { generateSigningKey } from '../auth/keys/signing-keys.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { Config } from '../config/config.ts';
import { requireSharedRoot } from './configured-catalog.ts';
import { DEFAULT_DATABASE, isOwnDirectory } from '../model/table.ts';
import type { Database } from '../model/table.ts';
import { endsWithin } from '../model/time/ends-within.ts';
import { ServiceError } from '../errors/service-error.ts';
import { isTransientFailure } from '../coordination/recover-writes.ts';
import { readEngineRelease, requireRootSupport } from '../engine/native/engine-release.ts';
import type { TableLeases } from '../coordination/table-leases.ts';
import type { Services } from '../operations/services.ts';
import type { Storages } from '../storage/storages.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';

const ADMIN_KEY_NAME = 'administrator';
const ADMIN_GRANT = { role: 'admin', database: undefined, path: [] } as const;

/**
 * Creates the database for requests without a database header. True if the catalog is new, for one of several servers.
 */
export async function ensureDefaultDatabase(catalog: Catalog, root: string): Promise<boolean> {
  if ((await catalog.databases.find(DEFAULT_DATABASE)) !== undefined) return false;
  try {
    await catalog.databases.create({ name: DEFAULT_DATABASE, root });
    return true;
  } catch (error) {
    if (error instanceof ServiceError && error.kind === 'DatabaseAlreadyExists') return false;
    throw error;
  }
}

/**
 * The first start creates an administrator key, unless one is configured. The key is only returned then: the catalog
 * stores its digest, and `admin.key` in the data folder, readable by its owner, the key itself. Of several servers
 * starting at once, one creates it.
 */
export async function ensureAdminKey(
  catalog: Catalog,
  config: Config,
  telemetry: Telemetry,
): Promise<string | undefined> {
  if (config.adminKey !== undefined) {
    const isValid = await catalog.keys.ensure(toAdministrator(digestSecret(config.adminKey)));
    if (!isValid) telemetry.emit({ kind: 'admin-key-revoked' });
    return undefined;
  }
  const keys = await catalog.keys.list({ limit: 1 });
  if (keys.length > 0) return undefined;
  const { key, digest } = generateApiKey();
  // The file first: a crash in between is harmless, because the next start finds no key and creates another.
  const file = join(config.data, 'admin.key');
  await writeFile(file, `${key}\n`, { mode: 0o600 });
  if (await catalog.keys.createFirst(toAdministrator(digest))) return key;
  await rm(file, { force: true });
  return undefined;
}

function toAdministrator(digest: string) {
  return { name: ADMIN_KEY_NAME, digest, grants: [ADMIN_GRANT] };
}

/** The key that the token endpoint signs with. Servers with the same catalog share it. */
export async function ensureSigningKey(catalog: Catalog): Promise<void> {
  const keys = await catalog.signingKeys.list();
  if (keys.length === 0) await catalog.signingKeys.ensure(await generateSigningKey());
}

/** Nodes cannot share a local folder: a database of a single server in a local folder must be moved first. */
export async function requireSharedRoots(catalog: Catalog, config: Config): Promise<void> {
  for (const { name, root } of await catalog.databases.list()) requireSharedRoot(name, root, config);
}

/** How long the start waits for a storage root that is not essential. */
const ROOT_SECONDS = 10;

/**
 * Creates the root folder of each database without tables. If a database has tables, its missing root was moved or is
 * not mounted, and an empty folder would hide that. Object stores are always probed. Returns the roots that cannot be
 * used now.
 */
export async function ensureRoots(
  catalog: Catalog,
  storages: Storages,
  telemetry: Telemetry,
): Promise<ReadonlySet<string>> {
  const release = readEngineRelease();
  const unusable = new Set<string>();
  const ensure = async ({ id, name, root }: Database): Promise<void> => {
    const [table] = await catalog.tables.list({ databaseId: id, limit: 1 });
    try {
      requireRootSupport(root, release);
      const storage = storages.of(root);
      const checked = table === undefined ? storage.ensureRoot() : storage.verifyRoot();
      const isNeeded = name === DEFAULT_DATABASE && table === undefined;
      if (isNeeded) await checked;
      else if (!(await endsWithin(ROOT_SECONDS, checked))) throw rootSilent();
    } catch (error) {
      // A temporary outage of a store with tables must not prevent the start: the first write verifies the store.
      const isOut = table !== undefined && error instanceof ServiceError && error.kind === 'ServiceUnavailable';
      if (name === DEFAULT_DATABASE && !isOut) throw error;
      unusable.add(root);
      telemetry.emit({ kind: 'background-failed', task: `checking the storage root of ${name}`, cause: error });
    }
  };
  // Concurrently, because roots in one bucket share its probe.
  await Promise.all((await catalog.databases.list()).map(ensure));
  return unusable;
}

function rootSilent(): ServiceError {
  return new ServiceError('ServiceUnavailable', `The storage root did not respond within ${ROOT_SECONDS} s.`);
}

/** Identifies the data folder to other nodes, so that a new process in it need not wait for its predecessor's lease. */
export async function ensureInstance(data: string): Promise<string> {
  const file = join(data, 'node.id');
  const known = await readFile(file, 'utf8').catch(() => '');
  if (known.trim() !== '') return known.trim();
  const instance = randomUUID();
  await writeFile(file, `${instance}\n`, { mode: 0o600 });
  return instance;
}

interface RecoveryParts extends Pick<Services, 'catalog' | 'engine' | 'writes' | 'telemetry'> {
  readonly isNewCatalog: boolean;
  /** Storage roots that could not be used at server start. */
  readonly unusableRoots: ReadonlySet<string>;
  /** Present in a cluster: the owner of a table resolves its unfinished writes. */
  readonly leases: TableLeases | undefined;
}

/** Frees names reserved by creates of ended nodes; otherwise they would be taken until a node starts. */
export async function sweepReservations({ catalog, writes }: Pick<RecoveryParts, 'catalog' | 'writes'>): Promise<void> {
  const { reservations } = await catalog.tables.unfinished();
  for (const reservation of reservations) {
    const removal = await catalog.tables.giveUp(reservation);
    if (removal === undefined) continue;
    await writes.removeTable(removal.location);
    await catalog.tables.finishRemoval(removal);
  }
}

/**
 * Cleans up after a crash: removes data of creates that were never published and of dropped tables, and restores tables
 * in the middle of a write of several commits to the version that their readers saw. What cannot be cleaned up now is
 * left for the next start; a lack of space is thrown, because it can be retried once there is space.
 */
export async function sweepUnfinished(parts: RecoveryParts): Promise<number> {
  const { catalog, engine, writes, telemetry, leases, unusableRoots } = parts;
  const { reservations, held } = await catalog.tables.unfinished();
  let swept = 0;
  let transient: Error | undefined;
  const attempt = async (directory: string, work: () => Promise<void>): Promise<void> => {
    try {
      await work();
      swept += 1;
    } catch (error) {
      if (error instanceof Error && isTransientFailure(error)) transient ??= error;
      telemetry.emit({ kind: 'background-failed', task: `sweep of ${directory}`, cause: error });
    }
  };
  for (const reservation of reservations) await catalog.tables.giveUp(reservation);
  for (const removal of await catalog.tables.removals()) {
    if (unusableRoots.has(removal.location.root)) continue;
    await attempt(removal.location.directory, async () => {
      await writes.removeTable(removal.location);
      await catalog.tables.finishRemoval(removal);
    });
  }
  for (const table of leases === undefined ? held : []) {
    const { heldVersion } = table;
    if (heldVersion === undefined) continue;
    await attempt(table.location.directory, async () => {
      const target = { location: table.location, branch: table.heldBranch };
      await writes.exclusive(table.location, async () => engine.restoreVersion(target, heldVersion));
      await catalog.tables.release(table.id);
    });
  }
  await writes.removeDeletedVersions();
  // Nothing may be written to a table that still has to be restored.
  if (transient !== undefined) throw transient;
  return swept;
}

/**
 * Publishes tables that the engine finds in a storage root but that the catalog does not know. Directories that look
 * like our own are leftovers then; only a new catalog, whose predecessor was lost, adopts them too.
 */
export async function adoptTables(parts: RecoveryParts): Promise<number> {
  const { catalog, engine, telemetry, isNewCatalog, unusableRoots } = parts;
  const isKnown = isNewCatalog ? () => false : isOwnDirectory;
  let adopted = 0;
  for (const database of await catalog.databases.list()) {
    if (unusableRoots.has(database.root)) continue;
    const found = await engine.findTables(database.root, isKnown).catch((error: unknown) => {
      // A missing or failing root must not prevent the tables of other databases from being served.
      telemetry.emit({ kind: 'background-failed', task: `looking for tables of ${database.name}`, cause: error });
      return [];
    });
    if (found.length > 0) adopted += await catalog.tables.adopt(database.id, found);
  }
  return adopted;
}
