import type { JournalLimits } from '../model/limits.ts';
import { createCallerNames, createCredentialStore } from './access/credentials.ts';
import { createGrantStore } from './access/grants.ts';
import { createQuotaStore } from './access/quotas.ts';
import { createSigningKeyStore } from './access/signing-keys.ts';
import { createContext, readGeneration } from './context.ts';
import type { ContextSettings } from './context.ts';
import { createDatabaseStore } from './databases.ts';
import { createJournal } from './journal/journal.ts';
import { createTransactionStore } from './journal/transactions.ts';
import { createNamespaceStore } from './namespaces/namespaces.ts';
import { createAttemptStore } from './nodes/attempts.ts';
import { createHeadStore } from './nodes/heads.ts';
import { createJobStore } from './nodes/jobs.ts';
import { createLeaseStore } from './nodes/leases.ts';
import { createNodeStore } from './nodes/nodes.ts';
import { migrate } from './schema/migrations.ts';
import { openSqliteStore } from './sqlite/sqlite-store.ts';
import type { CatalogStore } from './store.ts';
import { createBatchStore } from './tables/batches.ts';
import { createSizeStore } from './tables/sizes.ts';
import { createTableStore } from './tables/tables.ts';
import { createVersionMetadataStore } from './tables/version-metadata.ts';
import { createWebhookStore } from './webhooks.ts';

export type { CredentialRecord, CredentialStore } from './access/credentials.ts';
export type { GivenGrant } from './access/grants.ts';
export type { GivenQuota } from './access/quotas.ts';
export type { CompletedRequest, JournalEntry, NewEntry } from './journal/entries.ts';
export type { BeginOptions, Journal, NewCommit, RecordedCommit } from './journal/journal.ts';
export type { CommitEntry, TransactionRecord } from './journal/transactions.ts';
export type { NamespacePage } from './namespaces/namespaces.ts';
export type { RepeatedWork } from './nodes/attempts.ts';
export type { JobRecord, JobState, JobSubject, JobSummary } from './nodes/jobs.ts';
export type { Lease, LeaseHolder, Takeover } from './nodes/leases.ts';
export type { NodeCounts, NodeRecord } from './nodes/nodes.ts';
export type { BatchChanges, NewBatch, RecordedBatch, VersionRemoval } from './tables/batches.ts';
export type { FoundTable } from './tables/adoption.ts';
export type { Removal } from './tables/lifecycle.ts';
export type { PublishEntry, Reservation } from './tables/reservations.ts';
export type { StoredSize, Usage } from './tables/sizes.ts';
export type { WebhookProgress, WebhookRecord, WebhookScope } from './webhooks.ts';

export interface CatalogSettings extends ContextSettings {
  /** An SQLite file, or the `postgres://` address of a database. */
  readonly address: string;
  /** How long work waits for the database, or for another process's transaction, before it is refused. */
  readonly waitMilliseconds: number;
  /** For PostgreSQL. */
  readonly connectionsMax: number;
  readonly journal: JournalLimits;
}

/**
 * Names, locations, keys and grants. Acknowledged changes are on disk, and the next lookup of any process sees them.
 */
export type Catalog = Awaited<ReturnType<typeof openCatalog>>;

export async function openCatalog(settings: CatalogSettings) {
  const store = await openStore(settings);
  try {
    await migrate(store, settings.now());
  } catch (error) {
    await store.close();
    throw error;
  }
  const context = createContext(store, settings);
  const keys = createCredentialStore(context, { table: 'apiKeys', prefix: 'key:' });
  const clients = createCredentialStore(context, { table: 'oauthClients', prefix: 'client:' });
  return {
    databases: createDatabaseStore(context),
    namespaces: createNamespaceStore(context),
    tables: createTableStore(context),
    keys,
    /** The clients of the token endpoint. */
    clients,
    callerNames: createCallerNames({ keys, clients }),
    signingKeys: createSigningKeyStore(context),
    grants: createGrantStore(context),
    quotas: createQuotaStore(context),
    sizes: createSizeStore(context),
    transactions: createTransactionStore(context),
    webhooks: createWebhookStore(context),
    batches: createBatchStore(context),
    versionMetadata: createVersionMetadataStore(context),
    journal: createJournal(context, settings.journal),
    nodes: createNodeStore(context),
    leases: createLeaseStore(context),
    heads: createHeadStore(context),
    jobs: createJobStore(context),
    attempts: createAttemptStore(context),
    /**
     * Lookups inside see everything committed before it began, and share one query. Absent where lookups need no query.
     */
    inRequest: context.inRequest,
    /** Lookups inside may miss what other nodes committed within the last half second. */
    fromMemory: context.fromMemory,
    /** Entries, hits and misses of cached lookups. */
    lookupCounts: () => context.caches.counts(),
    counts: context.counts,
    onCommit: context.onCommit,
    /** Throws `ServiceUnavailable` if the catalog cannot be read. */
    async ping(): Promise<void> {
      await context.read(readGeneration);
    },
    async close(): Promise<void> {
      await store.close();
      context.caches.clear();
    },
  };
}

export function isPostgresAddress(address: string): boolean {
  return /^postgres(?:ql)?:\/\//.test(address);
}

type StoreSettings = Pick<CatalogSettings, 'address' | 'waitMilliseconds' | 'connectionsMax'>;

/** Opens the store without migrating it. */
export async function openStore({ address, waitMilliseconds, connectionsMax }: StoreSettings): Promise<CatalogStore> {
  if (!isPostgresAddress(address)) {
    return openSqliteStore({ file: address, busyTimeoutMilliseconds: waitMilliseconds });
  }
  // Loaded on demand: the default does not need it, and starts faster.
  const { openPostgresStore } = await import('./postgres/postgres-store.ts');
  return openPostgresStore({ url: address, connectionsMax, waitMilliseconds });
}
