import { isPostgresAddress, openCatalog } from '../catalog/catalog.ts';
import type { Catalog } from '../catalog/catalog.ts';
import { inspectCatalog } from '../catalog/sqlite/inspect-catalog.ts';
import type { CatalogState } from '../catalog/schema/migrations.ts';
import type { Config } from '../config/config.ts';
import { invalidInput } from '../errors/service-error.ts';
import { quoteForMessage } from '../model/identifier.ts';
import { createFolder } from '../model/storage/create-folder.ts';
import { CredentialVending, openStorages } from '../storage/storages.ts';
import type { ObjectSettings } from '../storage/storages.ts';

export const WAIT_MILLISECONDS = 5_000;
const CONNECTIONS_MAX = 8;

/** The configured catalog; commands may open it while a server is running. */
export async function openConfiguredCatalog(config: Config, nodeId?: string): Promise<Catalog> {
  createFolder(config.data, 0o700);
  return openCatalog({
    address: config.catalog.url ?? config.catalogFile,
    storageRoot: config.storage.root,
    nodeId,
    waitMilliseconds: WAIT_MILLISECONDS,
    connectionsMax: CONNECTIONS_MAX,
    cacheBytes: config.catalog.cacheBytes,
    journal: config.limits.journal,
    now: Date.now,
  });
}

/** The state of the configured catalog. Read-only. */
export async function inspectConfiguredCatalog({ catalog, catalogFile }: Config): Promise<CatalogState> {
  return inspectCatalogAt(catalog.url ?? catalogFile);
}

/** An SQLite file, or the address of a PostgreSQL database. */
export async function inspectCatalogAt(address: string): Promise<CatalogState> {
  if (!isPostgresAddress(address)) return inspectCatalog(address);
  const { inspectPostgresCatalog } = await import('../catalog/postgres/inspect-catalog.ts');
  return inspectPostgresCatalog({ url: address, waitMilliseconds: WAIT_MILLISECONDS });
}

/** Refuses a database whose root other nodes cannot reach. */
export function requireSharedRoot(database: string, root: string, { node }: Config): void {
  if (node.url === undefined || root.includes('://')) return;
  throw invalidInput(
    `The database ${quoteForMessage(database)} cannot have the root ${root}: nodes do not share a local folder.`,
    'Use an s3://, gs:// or az:// address, or run a single server without node.url.',
  );
}

/**
 * Creates the root folder of a new database, or probes its object store, for a command that runs next to the server.
 */
export async function ensureRoot(root: string, config: Config): Promise<void> {
  const storages = openStorages({ sync: 'os', watchedTablesMax: 0, objects: toObjectSettings(config) });
  await storages.of(root).ensureRoot();
  storages.close();
}

/** The server uses object stores with the same options as the engine. */
export function toObjectSettings({ storage }: Config): ObjectSettings {
  const { options, requestSeconds, requestAttemptsMax, retentionSecondsMin } = storage;
  return { options, environment: process.env, requestSeconds, requestAttemptsMax, retentionSecondsMin };
}

/** At start, refuses settings that no caller could use on the default root. */
export function openVending(config: Config): CredentialVending | undefined {
  const { vending, vendingRole: role, vendingEndpoint: endpoint, vendingSeconds: seconds, root } = config.storage;
  if (vending === 'off') return undefined;
  const opened = new CredentialVending({ ...toObjectSettings(config), role, endpoint, seconds });
  opened.isNeeded(root);
  return opened;
}
