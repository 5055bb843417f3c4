import { mkdir } from 'node:fs/promises';
import { openCatalog } from './catalog/catalog.ts';
import type { Catalog } from './catalog/catalog.ts';
import { inspectCatalog } from './catalog/inspect-catalog.ts';
import type { CatalogState } from './catalog/inspect-catalog.ts';
import type { Config } from './config/config.ts';

const CACHE_ENTRIES_MAX = 10_000;
const BUSY_MILLISECONDS = 5_000;

/** The catalog that the settings name; commands open it beside a running server. */
export async function openConfiguredCatalog(config: Config): Promise<Catalog> {
  await mkdir(config.data, { recursive: true, mode: 0o700 });
  return openCatalog({
    file: config.catalogFile,
    storageRoot: config.storage.root,
    busyTimeoutMilliseconds: BUSY_MILLISECONDS,
    cacheEntriesMax: CACHE_ENTRIES_MAX,
    journal: config.limits.journal,
    now: Date.now,
  });
}

/** How the catalog fares that the settings name; it is not changed by the look. */
export function inspectConfiguredCatalog(config: Config): CatalogState {
  return inspectCatalog(config.catalogFile);
}
