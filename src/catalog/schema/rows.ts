import type { QuotaLimit, Role } from '../../model/access.ts';
import type { Database } from '../../model/table.ts';

/**
 * The tables of the catalog, column by column; in the database their names are in snake case. Times are in milliseconds
 * since 1970; maps and lists are JSON.
 */
export interface CatalogTables {
  readonly settings: { readonly name: string; readonly value: string };
  readonly databases: Pick<Database, 'id' | 'name' | 'root'> & { readonly createdAt: number };
  readonly namespaces: NamespaceRow;
  readonly tables: TableRow;
  readonly apiKeys: CredentialRow;
  readonly oauthClients: CredentialRow;
  readonly signingKeys: SigningKeyRow;
  readonly grants: GrantRow;
  readonly quotas: QuotaRow;
  readonly heads: HeadRow;
  readonly jobs: JobRow;
  readonly journal: JournalRow;
  readonly leases: LeaseRow;
  readonly nodes: NodeRow;
  readonly transactions: TransactionRow;
  /** What callers have noted about transactions. */
  readonly transactionProperties: { readonly transactionId: string; readonly properties: string };
  readonly webhooks: WebhookRow;
  /** Data of dropped tables, to be deleted. */
  readonly removals: LocationRow & Pick<TableRow, 'id' | 'createdAt'>;
  /** Data of deregistered tables, which their owner keeps: neither swept nor adopted. */
  readonly releases: Pick<TableRow, 'location' | 'databaseId' | 'path'> & { readonly releasedAt: number };
  /** Names that tables had before. */
  readonly renames: Pick<TableRow, 'databaseId' | 'path'> & { readonly tableId: string; readonly renamedAt: number };
  readonly versionRemovals: VersionRemovalRow;
  readonly versionMetadata: VersionMetadataRow;
}

export interface NamespaceRow {
  readonly id: string;
  readonly databaseId: string;
  /** `null` below the root, which has no row. */
  readonly parentId: string | null;
  readonly path: string;
  readonly properties: string;
  readonly createdAt: number;
}

export interface TableRow extends LocationRow {
  readonly id: string;
  readonly databaseId: string;
  /** `null` in the root namespace. */
  readonly namespaceId: string | null;
  readonly path: string;
  /** `declared`: visible, but its data are written by a client, later or never. */
  readonly state: 'reserved' | 'published' | 'declared';
  readonly properties: string;
  readonly heldVersion: number | null;
  /** `null` for the main branch. */
  readonly heldBranch: string | null;
  readonly createdBy: string;
  readonly createdAt: number;
  /** The process that creates it, while it is reserved; `null` where only one process serves. */
  readonly nodeId: string | null;
  /** As last measured for a quota; `null`: not measured. */
  readonly storedRows: number | null;
  readonly storedBytes: number | null;
  /** What was measured of its vector indexes; `null`: nothing. */
  readonly tunings: string | null;
}

export interface LocationRow {
  readonly placeKind: 'listed' | 'namespaced';
  readonly placeRoot: string;
  readonly placeDirectory: string;
  readonly enginePath: string | null;
  /** The whole address: no two tables share one. */
  readonly location: string;
}

/** Versions of a table whose deletion is committed, and whose manifests may still exist. */
export interface VersionRemovalRow {
  readonly id: string;
  readonly tableId: string;
  /** `null` for the main branch. */
  readonly branch: string | null;
  /** JSON: their numbers. */
  readonly versions: string;
}

/** What an external writer says about a version. */
export interface VersionMetadataRow {
  readonly tableId: string;
  readonly branch: string;
  readonly version: number;
  /** In microseconds, as the manifest has it. */
  readonly committedAt: number;
  readonly metadata: string;
}

export interface CredentialRow {
  readonly id: string;
  readonly name: string;
  readonly digest: string;
  readonly createdAt: number;
  readonly expiresAt: number | null;
  readonly revokedAt: number | null;
}

interface SigningKeyRow {
  readonly id: string;
  /** Secret: both halves of the pair, as a JSON Web Key. */
  readonly jwk: string;
  readonly createdAt: number;
  readonly retiredAt: number | null;
}

export interface GrantRow {
  readonly principal: string;
  /** Empty for all databases, since a unique key does not compare nulls. */
  readonly databaseName: string;
  readonly path: string;
  readonly role: Role;
}

export interface QuotaRow extends Readonly<Record<QuotaLimit, number | null>> {
  /** `key:<id>`, `client:<id>` or `database:<id>`. */
  readonly subject: string;
}

export interface TransactionRow {
  readonly id: string;
  readonly databaseId: string;
  readonly tableId: string;
  readonly tablePath: string;
  readonly operation: string;
  readonly caller: string;
  readonly version: number;
  readonly branch: string | null;
  readonly requestId: string;
  readonly committedAt: number;
  /** Of a table that was renamed. */
  readonly formerPath: string | null;
}

/** The version of a table on an object store that readers get, so that they need not ask the store. */
export interface HeadRow {
  readonly tableId: string;
  readonly version: number;
  /** Grows with each change of any row: what has changed since is found by it. */
  readonly change: number;
}

/** A process that serves the catalog, from its start to its end. */
export interface NodeRow {
  readonly id: string;
  /** Of its data folder, which one process uses at a time. */
  readonly instance: string;
  /** Of its machine, for people. */
  readonly name: string;
  /** Where other nodes reach it; `null` for one that serves alone. */
  readonly address: string | null;
  /** Of the server. */
  readonly release: string;
  /** Roots below it are stored relative to it: it is the same on every node. */
  readonly storageRoot: string;
  readonly startedAt: number;
  /** On the clock of the database. Afterwards others may take over its tables. */
  readonly aliveUntil: number;
  /** Writes that it was forwarding at its last heartbeat. */
  readonly forwards: number;
}

/** Which node may write to a table. */
export interface LeaseRow {
  readonly tableId: string;
  /** `null`: released. */
  readonly nodeId: string | null;
  /** Grows with each change of the holder. */
  readonly epoch: number;
  readonly takenAt: number;
  /** The holder before, if the lease was taken over from it; `null` if it was free. */
  readonly takenFrom: string | null;
}

/** A job of any node. */
export interface JobRow {
  readonly id: string;
  /** The node that runs it. */
  readonly nodeId: string;
  readonly databaseId: string;
  readonly tableId: string;
  readonly tablePath: string;
  readonly kind: string;
  readonly caller: string;
  readonly spec: string;
  readonly state: 'IN_PROGRESS' | 'DONE' | 'FAILED' | 'CANCELLED' | 'TIMED_OUT';
  readonly phase: string;
  /** 0 or 1. Any node may set it. */
  readonly cancelRequested: number;
  readonly createdAt: number;
  readonly endedAt: number | null;
  readonly result: string | null;
  readonly failure: string | null;
}

/** An address that is told of commits. */
export interface WebhookRow {
  readonly id: string;
  readonly databaseId: string;
  /** JSON: which commits it is told of. */
  readonly scope: string;
  readonly url: string;
  /** Signs what is sent, so it is stored as it is. */
  readonly secret: string;
  readonly state: 'active' | 'disabled';
  readonly createdBy: string;
  readonly createdAt: number;
  /** The id of the last commit that it was told of, or need not be. */
  readonly cursor: string;
  /** The node that delivers; empty for none. */
  readonly nodeId: string;
  /** Failed attempts since the last success. */
  readonly failures: number;
  readonly failingSince: number | null;
  /** Not before this time. */
  readonly nextAttemptAt: number;
  readonly attemptedAt: number | null;
  readonly deliveredAt: number | null;
  readonly deliveredEvents: number;
  readonly lastStatus: number | null;
  readonly lastError: string | null;
}

/** A write, from just before its commit until its result can no longer be replayed. */
export interface JournalRow {
  readonly id: string;
  readonly caller: string;
  readonly digest: string;
  readonly idempotencyKey: string | null;
  readonly operation: string;
  readonly databaseId: string;
  readonly tableId: string;
  readonly tablePath: string;
  readonly branch: string | null;
  readonly baseVersion: number;
  /** Of an entry in doubt: commits after this version are not this write's. */
  readonly boundVersion: number | null;
  readonly epoch: number;
  /** Of the response marks, for an entry without a key. */
  readonly generation: string | null;
  readonly expected: string | null;
  readonly requestId: string;
  readonly state: 'pending' | 'committed';
  readonly since: number;
  readonly version: number | null;
  readonly transactionId: string | null;
  readonly outcome: string | null;
}
