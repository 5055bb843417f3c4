import { comparePaths, isWithin } from './identifier.ts';
import type { NamespacePath } from './identifier.ts';

/** In ascending order: each role includes the previous ones. */
export const ROLES = ['reader', 'writer', 'owner', 'admin'] as const;
export type Role = (typeof ROLES)[number];

export const PERMISSIONS = ['see', 'read', 'write', 'manage', 'administer'] as const;
/** What an operation requires on its target. `see`: any role on it, above it or below it. */
export type Permission = (typeof PERMISSIONS)[number];

/**
 * A role on a database (empty path), namespace or table, and everything below it. Without a database: on all databases.
 */
export interface Grant {
  readonly role: Role;
  readonly database: string | undefined;
  readonly path: NamespacePath;
}

/** `id` appears in logs and transaction records: never a secret. */
export interface Caller {
  readonly id: string;
  readonly kind: 'key' | 'token' | 'anonymous';
  readonly grants: readonly Grant[];
  /** The quota of a key or client, if any. */
  readonly quota?: Quota | undefined;
}

/** What a quota can limit: each node enforces the first three; the others are sizes. */
export const QUOTA_LIMITS = [
  'requestsPerSecond',
  'concurrentReads',
  'concurrentWrites',
  'bytes',
  'rows',
  'tables',
] as const;
export type QuotaLimit = (typeof QUOTA_LIMITS)[number];

/** The limits of a key, a client or a database. Absent: no limit. */
export type Quota = Readonly<Partial<Record<QuotaLimit, number>>>;

export const SIZE_LIMITS = ['bytes', 'rows', 'tables'] as const;
export type SizeLimit = (typeof SIZE_LIMITS)[number];

export function limitsSize(quota: Quota | undefined): quota is Quota {
  return quota !== undefined && SIZE_LIMITS.some((limit) => quota[limit] !== undefined);
}

const ROLE_NEEDED: Readonly<Record<Permission, Role>> = {
  see: 'reader',
  read: 'reader',
  write: 'writer',
  manage: 'owner',
  administer: 'admin',
};

export function roleFor(permission: Permission): Role {
  return ROLE_NEEDED[permission];
}

export function isPermitted(caller: Caller, permission: Permission, database: string, path: NamespacePath): boolean {
  if (permission === 'see') return isVisible(caller, database, path);
  const needed = ROLES.indexOf(roleFor(permission));
  return caller.grants.some((grant) => ROLES.indexOf(grant.role) >= needed && covers(grant, database, path));
}

/** Whether the caller may know that an object exists: any role on it, above it or below it. */
export function isVisible(caller: Caller, database: string, path: NamespacePath): boolean {
  return caller.grants.some((grant) => covers(grant, database, path) || isAbove(database, path, grant));
}

/** The readable paths of a database, sorted, none inside another, restricted to those in `below`. */
export function readableScopes(caller: Caller, database: string, below: NamespacePath = []): readonly NamespacePath[] {
  const paths = caller.grants
    .filter((grant) => grant.database === undefined || grant.database === database)
    .map((grant) => grant.path)
    .toSorted(comparePaths);
  if (paths.some((path) => isWithin(below, path))) return [below];
  const scopes: NamespacePath[] = [];
  for (const path of paths) {
    // Sorted, so that everything inside a path directly follows it.
    const last = scopes.at(-1);
    const isCovered = last !== undefined && isWithin(path, last);
    if (!isCovered && isWithin(path, below)) scopes.push(path);
  }
  return scopes;
}

/** Names directly below a path: all, or only these. */
type Children = 'all' | readonly string[];

/** The visible child namespaces: those with a grant on them, above them or below them. */
export function visibleNamespaces(caller: Caller, database: string, path: NamespacePath): Children {
  return childrenOf(caller, database, path, () => true);
}

/** The readable tables of a namespace. A grant further below belongs to a namespace with the same name. */
export function readableTables(caller: Caller, database: string, path: NamespacePath): Children {
  return childrenOf(caller, database, path, (grant) => grant.path.length === path.length + 1);
}

function childrenOf(
  caller: Caller,
  database: string,
  path: NamespacePath,
  isOpen: (grant: Grant) => boolean,
): Children {
  if (caller.grants.some((grant) => covers(grant, database, path))) return 'all';
  const below = caller.grants.filter((grant) => isAbove(database, path, grant) && isOpen(grant));
  return [...new Set(below.map((grant) => grant.path[path.length] ?? ''))];
}

export function covers(grant: Grant, database: string, path: NamespacePath): boolean {
  if (grant.database !== undefined && grant.database !== database) return false;
  return isWithin(path, grant.path);
}

function isAbove(database: string, path: NamespacePath, grant: Grant): boolean {
  return (grant.database ?? database) === database && isWithin(grant.path, path);
}

/** Whether the caller administers all databases, and thus the server. */
export function administersEverything(caller: Caller): boolean {
  return caller.grants.some(
    (grant) => grant.role === 'admin' && grant.database === undefined && grant.path.length === 0,
  );
}

export function administersAnything(caller: Caller): boolean {
  return caller.grants.some(({ role }) => role === 'admin');
}

export function writesAnything(caller: Caller): boolean {
  return caller.grants.some(({ role }) => role !== 'reader');
}

/** An administrator may give and revoke any role within what they administer: no role is higher than `admin`. */
export function mayGive(caller: Caller, { database, path }: Grant): boolean {
  if (administersEverything(caller)) return true;
  return database !== undefined && isPermitted(caller, 'administer', database, path);
}

/**
 * Whether the caller administers everything that a key or client has grants on; one without grants belongs to the
 * server.
 */
export function mayChange(caller: Caller, grants: readonly Grant[]): boolean {
  if (administersEverything(caller)) return true;
  return grants.length > 0 && grants.every((grant) => mayGive(caller, grant));
}

/** `undefined` means all databases. */
export function administeredDatabases(caller: Caller): readonly string[] | undefined {
  if (administersEverything(caller)) return undefined;
  const names = caller.grants.filter(({ role }) => role === 'admin').map(({ database }) => database);
  return [...new Set(names.filter((name) => name !== undefined))];
}

export interface Target {
  readonly database: string;
  readonly path: NamespacePath;
  readonly kind: 'database' | 'namespace' | 'table';
}

/** `hidden` is reported as not found, `forbidden` as 403. */
export type Decision = 'permitted' | 'forbidden' | 'hidden';

export function authorize(caller: Caller, permission: Permission, target: Target): Decision {
  if (isPermitted(caller, permission, target.database, target.path)) return 'permitted';
  // A grant below the path of a table belongs to a namespace with the same name, and does not reveal the table.
  const revealing = target.kind === 'table' ? 'read' : 'see';
  return isPermitted(caller, revealing, target.database, target.path) ? 'forbidden' : 'hidden';
}

/** A trusted identity provider, and what the claims of its tokens grant. */
export interface IssuerSettings {
  /** Must equal the `iss` claim of its tokens. */
  readonly issuer: string;
  readonly audience: string;
  readonly algorithms: readonly string[];
  /** Default: from the issuer's discovery document. */
  readonly keySetUrl?: string;
  readonly subjectClaim: string;
  readonly grants: readonly ClaimGrant[];
}

/** Applies if the claim equals `value`, or contains it as an element or as a word of a space-separated text. */
export interface ClaimGrant {
  readonly claim: string;
  readonly value: string;
  readonly grant: Grant;
}

/** Asymmetric only: neither `none` nor HMAC, which a holder of the public key could forge. */
export const SIGNATURE_ALGORITHMS: readonly string[] =
  'RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519'.split(' ');
