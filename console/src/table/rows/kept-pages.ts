import type { ApiClient } from '../../../../src/client/api-client.ts';
import type { StoredRow } from './edit/pending-edits.ts';

export interface PageOfRows {
  readonly offset: number;
  readonly rows: readonly StoredRow[];
}

const PAGES_MAX = 4;

/** The last shown pages: returning to the tab shows them at once, while they are read again. */
const PAGES = new WeakMap<ApiClient, Map<string, PageOfRows>>();

export function findPage(client: ApiClient, key: string): PageOfRows | undefined {
  return PAGES.get(client)?.get(key);
}

export function keepPage(client: ApiClient, key: string, page: PageOfRows): void {
  const pages = PAGES.get(client) ?? new Map<string, PageOfRows>();
  pages.delete(key);
  pages.set(key, page);
  for (const oldest of [...pages.keys()].slice(0, -PAGES_MAX)) pages.delete(oldest);
  PAGES.set(client, pages);
}
