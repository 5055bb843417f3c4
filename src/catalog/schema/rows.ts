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
  /** At work that the server repeats after a restart. */
  readonly attempts: { readonly tableId: string; readonly work: string; readonly begun: number };
  readonly jobs: JobRow;
  readonly journal: JournalRow;
  readonly leases: LeaseRow;
  readonly nodes: NodeRow;
  readonly transactions: TransactionRow;
  /** Properties that callers set on transactions. */
  readonly transactionProperties: { readonly transactionId: string; readonly properties: string };
  readonly webhooks: WebhookRow;
  /** Data of dropped tables, to be deleted. */
  readonly removals: LocationRow & Pick<TableRow, 'id' | 'createdAt'>;
  /** Data of deregistered tables, which belongs to its owner: neither swept nor adopted. */
  readonly releases: Pick<TableRow, 'location' | 'databaseId' | 'path'> & { readonly releasedAt: number };
  /** Former names of tables. */
  readonly renames: Pick<TableRow, 'databaseId' | 'path'> & { readonly tableId: string; readonly renamedAt: number };
  readonly versionRemovals: VersionRemovalRow;
  readonly versionMetadata: VersionMetadataRow;
}

export interface NamespaceRow {
  readonly id: string;
  readonly databaseId: string;
  /** `null` for a child of the root, which has no row. */
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
  /** `declared`: visible, but its data is written by a client, later or never. */
  readonly state: 'reserved' | 'published' | 'declared';
  readonly properties: string;
  readonly heldVersion: number | null;
  /** `null` for the main branch. */
  readonly heldBranch: string | null;
  readonly createdBy: string;
  readonly createdAt: number;
  /** The process that is creating it, while it is reserved; `null` on a single node. */
  readonly nodeId: string | null;
  /** As last measured for a quota; `null` if not measured. */
  readonly storedRows: number | null;
  readonly storedBytes: number | null;
  /** Measurements of its vector indexes; `null` if there are none. */
  readonly tunings: string | null;
}

export interface LocationRow {
  readonly placeKind: 'listed' | 'namespaced';
  readonly placeRoot: string;
  readonly placeDirectory: string;
  readonly enginePath: string | null;
  /** The complete address: no two tables share one. */
  readonly location: string;
}

/** Versions of a table whose deletion is committed, but whose manifests may still exist. */
export interface VersionRemovalRow {
  readonly id: string;
  readonly tableId: string;
  /** `null` for the main branch. */
  readonly branch: string | null;
  /** The version numbers, as JSON. */
  readonly versions: string;
}

/** Metadata of a version from an external writer. */
export interface VersionMetadataRow {
  readonly tableId: string;
  readonly branch: string;
  readonly version: number;
  /** In microseconds, as in the manifest. */
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
  /** Empty for all databases, because a unique key does not compare nulls. */
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
  /** The previous path of a renamed table. */
  readonly formerPath: string | null;
}

/** The version of a table on an object store that readers get without asking the store. */
export interface HeadRow {
  readonly tableId: string;
  readonly version: number;
  /** Grows with each change of any row, so that changes can be read incrementally. */
  readonly change: number;
}

/** A process that serves the catalog, from its start to its end. */
export interface NodeRow {
  readonly id: string;
  /** Identifies its data folder, which one process uses at a time. */
  readonly instance: string;
  /** The name of its machine, for people. */
  readonly name: string;
  /** Where other nodes reach it; `null` if it serves alone. */
  readonly address: string | null;
  /** The version of the server. */
  readonly release: string;
  /** The same on every node: roots below it are stored relative to it. */
  readonly storageRoot: string;
  readonly startedAt: number;
  /** On the database's clock. Afterwards other nodes may take over its tables. */
  readonly aliveUntil: number;
  /** Writes that it was forwarding at its last heartbeat. */
  readonly forwards: number;
}

/** Which node may write to a table. */
export interface LeaseRow {
  readonly tableId: string;
  /** `null` if released. */
  readonly nodeId: string | null;
  /** Grows with each change of the holder. */
  readonly epoch: number;
  readonly takenAt: number;
  /** The previous holder, if the lease was taken over; `null` if it was free. */
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

/** An address that is notified of commits. */
export interface WebhookRow {
  readonly id: string;
  readonly databaseId: string;
  /** The commits that it is notified of, as JSON. */
  readonly scope: string;
  readonly url: string;
  /** Signs the deliveries, so it is stored in plain text. */
  readonly secret: string;
  readonly state: 'active' | 'disabled';
  readonly createdBy: string;
  readonly createdAt: number;
  /** The id of the last commit that was delivered or skipped. */
  readonly cursor: string;
  /** The node that delivers; empty for none. */
  readonly nodeId: string;
  /** Failed attempts since the last success. */
  readonly failures: number;
  readonly failingSince: number | null;
  /** The next attempt is not made before this time. */
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
  /** For an entry in doubt: commits after this version do not belong to it. */
  readonly boundVersion: number | null;
  readonly epoch: number;
  /** The generation of response marks, for an entry without a key. */
  readonly generation: string | null;
  readonly expected: string | null;
  readonly requestId: string;
  readonly state: 'pending' | 'committed';
  readonly since: number;
  readonly version: number | null;
  readonly transactionId: string | null;
  readonly outcome: string | null;
}
