import type { CatalogTables } from '../schema/rows.ts';

/** The rows are specific to one catalog, or to the processes that serve it. */
const NOT_COPIED = 'not copied';

interface CopiedTable {
  /** Unique, for paging; also an order in which each row follows the rows that it refers to. */
  readonly key: readonly string[];
  /** Replaces values that mean nothing in another catalog. */
  readonly reset?: Readonly<Record<string, unknown>>;
}

/** All tables of the catalog, each after the tables that it refers to. */
export const TABLES: Readonly<Record<keyof CatalogTables, CopiedTable | typeof NOT_COPIED>> = {
  settings: NOT_COPIED,
  databases: { key: ['id'] },
  // A path sorts after its parents.
  namespaces: { key: ['databaseId', 'path'] },
  tables: { key: ['id'], reset: { nodeId: null } },
  apiKeys: { key: ['id'] },
  oauthClients: { key: ['id'] },
  signingKeys: { key: ['id'] },
  grants: { key: ['principal', 'databaseName', 'path', 'role'] },
  quotas: { key: ['subject'] },
  // Epochs belong to leases, which are not copied: every new lease is later than 0.
  journal: { key: ['id'], reset: { epoch: 0 } },
  transactions: { key: ['id'] },
  transactionProperties: { key: ['transactionId'] },
  webhooks: { key: ['id'], reset: { nodeId: '' } },
  removals: { key: ['id'] },
  releases: { key: ['location'] },
  renames: { key: ['databaseId', 'path'] },
  versionRemovals: { key: ['id'] },
  versionMetadata: { key: ['tableId', 'branch', 'version'] },
  heads: { key: ['tableId'] },
  // The next process continues unfinished jobs.
  jobs: { key: ['id'], reset: { nodeId: '' } },
  attempts: { key: ['tableId', 'work'] },
  nodes: NOT_COPIED,
  leases: NOT_COPIED,
};

export const COPIED_TABLES: readonly (CopiedTable & { readonly name: string })[] = Object.entries(TABLES).flatMap(
  ([name, table]) => (table === NOT_COPIED ? [] : [{ name, ...table }]),
);
