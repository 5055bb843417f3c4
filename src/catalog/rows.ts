import type { Role } from '../model/caller.ts';

/** The tables of the catalog, column by column. Times are in milliseconds since 1970; maps and lists are JSON. */
export interface CatalogTables {
  readonly settings: SettingRow;
  readonly databases: DatabaseRow;
  readonly namespaces: NamespaceRow;
  readonly tables: TableRow;
  readonly api_keys: KeyRow;
  readonly grants: GrantRow;
  readonly transactions: TransactionRow;
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
  readonly state: 'reserved' | 'published';
  readonly place_kind: 'listed' | 'namespaced';
  readonly place_root: string;
  readonly place_directory: string;
  readonly engine_path: string | null;
  /** The whole address: no two tables share one, whichever way they are opened. */
  readonly location: string;
  readonly properties: string;
  readonly held_version: number | null;
  readonly created_by: string;
  readonly created_at: number;
}

export interface KeyRow {
  readonly id: string;
  readonly name: string;
  readonly digest: string;
  readonly created_at: number;
  readonly expires_at: number | null;
  readonly revoked_at: number | null;
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
