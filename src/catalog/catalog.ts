import type { JournalLimits } from '../model/limits.ts';
import { createContext } from './context.ts';
import { createDatabaseStore } from './databases.ts';
import type { DatabaseStore } from './databases.ts';
import { readGeneration } from './generation.ts';
import { createJournal } from './journal.ts';
import type { Journal } from './journal.ts';
import { createCredentialStore } from './credentials.ts';
import type { CredentialStore } from './credentials.ts';
import { createGrantStore } from './grants.ts';
import type { GrantStore } from './grants.ts';
import type { LookupCounts } from './lookup-cache.ts';
import { migrate } from './migrations.ts';
import { createNamespaceStore } from './namespaces.ts';
import type { NamespaceStore } from './namespaces.ts';
import { createSigningKeyStore } from './signing-keys.ts';
import type { SigningKeyStore } from './signing-keys.ts';
import { openSqliteStore } from './sqlite.ts';
import { createTableStore } from './tables.ts';
import type { TableStore } from './tables.ts';
import { createTransactionStore } from './transactions.ts';
import type { TransactionStore } from './transactions.ts';

export type { FoundTable } from './adoption.ts';
export type { DatabaseStore, NewDatabase } from './databases.ts';
export type { CredentialPage, CredentialRecord, CredentialStore, NewCredential } from './credentials.ts';
export type { GivenGrant, GrantPage, GrantStore } from './grants.ts';
export type { BeginOptions, Journal, JournalEntry, NewCommit, NewEntry, RecordedCommit } from './journal.ts';
export type { LocationOwner, NewDeclaration, NewRecord, NewRegistration } from './declarations.ts';
export type { DroppedNamespace, NamespaceDrop } from './namespace-drop.ts';
export type { NamespacePage, NamespaceRecord, NamespaceStore, NewNamespace } from './namespaces.ts';
export type { Removal } from './removals.ts';
export type { SigningKey, SigningKeyStore } from './signing-keys.ts';
export type { NewTable, PublishEntry, Reservation, Unfinished } from './reservations.ts';
export type { HeldState, TablePage, TableStore } from './tables.ts';
export type { CompletedRequest } from './completed-requests.ts';
export type { CommitEntry, TransactionPage, TransactionRecord, TransactionStore } from './transactions.ts';

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
