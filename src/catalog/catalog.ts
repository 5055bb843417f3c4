import type { JournalLimits } from '../model/limits.ts';
import { createContext, readGeneration } from './context.ts';
import { createDatabaseStore } from './databases.ts';
import type { DatabaseStore } from './databases.ts';
import { createJournal } from './journal/journal.ts';
import type { Journal } from './journal/journal.ts';
import { createCredentialStore } from './access/credentials.ts';
import type { CredentialStore } from './access/credentials.ts';
import { createGrantStore } from './access/grants.ts';
import type { GrantStore } from './access/grants.ts';
import type { LookupCounts } from './lookup-cache.ts';
import { migrate } from './schema/migrations.ts';
import { createNamespaceStore } from './namespaces/namespaces.ts';
import type { NamespaceStore } from './namespaces/namespaces.ts';
import { createSigningKeyStore } from './access/signing-keys.ts';
import type { SigningKeyStore } from './access/signing-keys.ts';
import { openSqliteStore } from './sqlite/sqlite-store.ts';
import { createTableStore } from './tables/tables.ts';
import type { TableStore } from './tables/tables.ts';
import { createTransactionStore } from './journal/transactions.ts';
import type { TransactionStore } from './journal/transactions.ts';

export type { FoundTable } from './tables/adoption.ts';
export type { DatabaseStore, NewDatabase } from './databases.ts';
export type { CredentialPage, CredentialRecord, CredentialStore, NewCredential } from './access/credentials.ts';
export type { GivenGrant, GrantPage, GrantStore } from './access/grants.ts';
export type { BeginOptions, Journal, JournalEntry, NewCommit, NewEntry, RecordedCommit } from './journal/journal.ts';
export type { LocationOwner, NewDeclaration, NewRecord, NewRegistration } from './tables/declarations.ts';
export type { DroppedNamespace, NamespaceDrop } from './namespaces/namespaces.ts';
export type { NamespacePage, NamespaceRecord, NamespaceStore, NewNamespace } from './namespaces/namespaces.ts';
export type { Removal } from './tables/removals-and-renames.ts';
export type { SigningKey, SigningKeyStore } from './access/signing-keys.ts';
export type { NewTable, PublishEntry, Reservation, Unfinished } from './tables/reservations.ts';
export type { HeldState, TablePage, TableStore } from './tables/tables.ts';
export type { CompletedRequest } from './journal/entries.ts';
export type { CommitEntry, TransactionPage, TransactionRecord, TransactionStore } from './journal/transactions.ts';

export interface CatalogSettings {
  /** Its folder must be there; the file is made when it is not. */
  readonly file: string;
  /** Databases whose roots lie below it can be moved with it. */
  readonly storageRoot: string;
  /** How long work waits for another process's lock before it is refused. */
  readonly busyTimeoutMilliseconds: number;
  /** For each kind of lookup. */
  readonly cacheEntriesMax: number;
  readonly journal: JournalLimits;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** Names, locations, keys and grants. What it has acknowledged is on disk, and the next lookup of any process sees it. */
export interface Catalog {
  readonly databases: DatabaseStore;
  readonly namespaces: NamespaceStore;
  readonly tables: TableStore;
  readonly keys: CredentialStore;
  /** Of the token endpoint. */
  readonly clients: CredentialStore;
  readonly signingKeys: SigningKeyStore;
  readonly grants: GrantStore;
  readonly transactions: TransactionStore;
  /** How lookups fared. */
  lookupCounts(): LookupCounts;
  /** Transactions and syncs of the disk since the start. */
  counts(): { readonly transactions: number; readonly syncs: number };
  readonly journal: Journal;
  /** Refuses with `ServiceUnavailable` when the catalog cannot be read. */
  ping(): Promise<void>;
  close(): Promise<void>;
}

export async function openCatalog(settings: CatalogSettings): Promise<Catalog> {
  const store = await openSqliteStore(settings);
  try {
    await migrate(store, settings.now());
  } catch (error) {
    await store.close();
    throw error;
  }
  const context = createContext(store, settings);
  return {
    databases: createDatabaseStore(context),
    namespaces: createNamespaceStore(context),
    tables: createTableStore(context),
    keys: createCredentialStore(context, { table: 'api_keys', prefix: 'key:' }),
    clients: createCredentialStore(context, { table: 'oauth_clients', prefix: 'client:' }),
    signingKeys: createSigningKeyStore(context),
    grants: createGrantStore(context),
    transactions: createTransactionStore(context),
    lookupCounts: () => context.caches.counts(),
    counts: () => ({ transactions: context.transactionCount(), syncs: store.syncCount() }),
    journal: createJournal(context, settings.journal),
    async ping() {
      await context.read(readGeneration);
    },
    async close() {
      await store.close();
      context.caches.lookAgain();
    },
  };
}
