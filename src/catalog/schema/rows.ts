import type { Role } from '../../model/access.ts';

/** The tables of the catalog, column by column. Times are in milliseconds since 1970; maps and lists are JSON. */
export interface CatalogTables {
  readonly settings: SettingRow;
  readonly databases: DatabaseRow;
  readonly namespaces: NamespaceRow;
  readonly tables: TableRow;
  readonly api_keys: CredentialRow;
  readonly oauth_clients: CredentialRow;
  readonly signing_keys: SigningKeyRow;
  readonly grants: GrantRow;
  readonly journal: JournalRow;
  readonly transactions: TransactionRow;
  readonly removals: RemovalRow;
  readonly releases: ReleaseRow;
  readonly renames: RenameRow;
}

export interface SettingRow {
  readonly name: string;
  readonly value: string;
}

export interface DatabaseRow {
  readonly id: string;
  readonly name: string;
  readonly root: string;
  readonly created_at: number;
}

export interface NamespaceRow {
  readonly id: string;
  readonly database_id: string;
  /** `null` below the root, which has no row. */
  readonly parent_id: string | null;
  readonly path: string;
  readonly properties: string;
  readonly created_at: number;
}

export interface TableRow {
  readonly id: string;
  readonly database_id: string;
  /** `null` in the root namespace. */
  readonly namespace_id: string | null;
  readonly path: string;
  /** `declared`: visible, but its data are written by a client, later or never. */
  readonly state: 'reserved' | 'published' | 'declared';
  readonly place_kind: 'listed' | 'namespaced';
  readonly place_root: string;
  readonly place_directory: string;
  readonly engine_path: string | null;
  /** The whole address: no two tables share one. */
  readonly location: string;
  readonly properties: string;
  readonly held_version: number | null;
  /** `null` for the main branch. */
  readonly held_branch: string | null;
  readonly created_by: string;
  readonly created_at: number;
}

export interface CredentialRow {
  readonly id: string;
  readonly name: string;
  readonly digest: string;
  readonly created_at: number;
  readonly expires_at: number | null;
  readonly revoked_at: number | null;
}

export interface SigningKeyRow {
  readonly id: string;
  /** Secret: both halves of the pair, as a JSON Web Key. */
  readonly jwk: string;
  readonly created_at: number;
  readonly retired_at: number | null;
}

export interface GrantRow {
  readonly principal: string;
  /** Empty for all databases, since a unique key does not compare nulls. */
  readonly database_name: string;
  readonly path: string;
  readonly role: Role;
}

export interface TransactionRow {
  readonly id: string;
  readonly database_id: string;
  readonly table_id: string;
  readonly table_path: string;
  readonly operation: string;
  readonly caller: string;
  readonly version: number;
  readonly branch: string | null;
  readonly request_id: string;
  readonly committed_at: number;
}

/** A write, from just before its commit until its result can no longer be replayed. */
export interface JournalRow {
  readonly id: string;
  readonly caller: string;
  readonly digest: string;
  readonly idempotency_key: string | null;
  readonly operation: string;
  readonly database_id: string;
  readonly table_id: string;
  readonly table_path: string;
  readonly branch: string | null;
  readonly base_version: number;
  /** Of an entry in doubt: commits after this version are not this write's. */
  readonly bound_version: number | null;
  readonly epoch: number;
  /** Of the response marks, for an entry without a key. */
  readonly generation: string | null;
  readonly expected: string | null;
  readonly request_id: string;
  readonly state: 'pending' | 'committed';
  readonly since: number;
  readonly version: number | null;
  readonly transaction_id: string | null;
  readonly outcome: string | null;
}

/** Data of a dropped table, to be deleted. */
export interface RemovalRow extends LocationRow {
  readonly id: string;
  readonly created_at: number;
}

export type LocationRow = Pick<TableRow, 'place_kind' | 'place_root' | 'place_directory' | 'engine_path' | 'location'>;

/** Data of a deregistered table, which their owner keeps: neither swept nor adopted. */
export interface ReleaseRow {
  readonly location: string;
  readonly database_id: string;
  readonly path: string;
  readonly released_at: number;
}

/** The name that a table had before. */
export interface RenameRow {
  readonly database_id: string;
  readonly path: string;
  readonly table_id: string;
  readonly renamed_at: number;
}
