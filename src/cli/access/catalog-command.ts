import type { Catalog } from '../../catalog/catalog.ts';
import { openConfiguredCatalog } from '../../app/offline.ts';
import type { Terminal } from '../command.ts';
import { requireConfig } from '../command.ts';

/** Runs a command's work on the catalog that the settings name, beside a server that may be running. */
export async function withCatalog(
  settings: readonly string[],
  terminal: Terminal,
  work: (catalog: Catalog) => Promise<number>,
): Promise<number> {
  const catalog = await openConfiguredCatalog(requireConfig(settings, terminal));
  try {
    return await work(catalog);
  } finally {
    await catalog.close();
  }
}
