import { comparePaths } from './identifier.ts';
import type { NamespacePath } from './identifier.ts';

/** From least to most: each role may do all that the ones before it may. */
export const ROLES = ['reader', 'writer', 'owner', 'admin'] as const;
export type Role = (typeof ROLES)[number];

/** What an operation needs from its caller on the object that it is about. `see`: any role on it, above it or below it. */
export type Permission = 'see' | 'read' | 'write' | 'manage' | 'administer';

/** A role on a database (empty path), a namespace or a table, inherited downward. A missing database means all of them. */
export interface Grant {
  readonly role: Role;
  readonly database: string | undefined;
  readonly path: NamespacePath;
}

/** Who asks. `id` is what logs and transaction records show: never a secret. */
export interface Caller {
  readonly id: string;
  readonly kind: 'key' | 'token' | 'anonymous';
  readonly grants: readonly Grant[];
}

const ROLE_NEEDED: Readonly<Record<Exclude<Permission, 'see'>, Role>> = {
  read: 'reader',
  write: 'writer',
  manage: 'owner',
  administer: 'admin',
};

export function isPermitted(caller: Caller, permission: Permission, database: string, path: NamespacePath): boolean {
  if (permission === 'see') return isVisible(caller, database, path);
  const needed = ROLES.indexOf(ROLE_NEEDED[permission]);
  return caller.grants.some((grant) => ROLES.indexOf(grant.role) >= needed && covers(grant, database, path));
}

/** Whether the caller may know that an object is there: any role on it, or on something above or below it. */
export function isVisible(caller: Caller, database: string, path: NamespacePath): boolean {
  return caller.grants.some((grant) => covers(grant, database, path) || isAbove(database, path, grant));
}

/**
 * The paths below which the caller may read all of a database, in order, none inside another. Of those, where `below` is
 * given, only what lies below it.
 */
export function readableScopes(caller: Caller, database: string, below: NamespacePath = []): readonly NamespacePath[] {
  const paths = caller.grants
    .filter((grant) => grant.database === undefined || grant.database === database)
    .map((grant) => grant.path)
    .toSorted(comparePaths);
  if (paths.some((path) => isPrefix(path, below))) return [below];
  const inside = paths.filter((path) => isPrefix(below, path));
  return inside.filter((path, index) => !inside.slice(0, index).some((other) => isPrefix(other, path)));
}

/** Names directly below a path: all of them, or only these. */
export type Children = 'all' | readonly string[];

/** The namespaces directly below one that the caller may see: those with a grant on them, above them or below them. */
export function visibleNamespaces(caller: Caller, database: string, path: NamespacePath): Children {
  return childrenOf(caller, database, path, () => true);
}

/** The tables directly in a namespace that the caller may read. What is granted below a name is no table's. */
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
  return isPrefix(grant.path, path);
}

function isAbove(database: string, path: NamespacePath, grant: Grant): boolean {
  return (grant.database ?? database) === database && isPrefix(path, grant.path);
}

function isPrefix(prefix: NamespacePath, path: NamespacePath): boolean {
  return prefix.length <= path.length && prefix.every((name, index) => name === path[index]);
}

/** Whether the caller administers every database, and so the server. */
export function administersEverything(caller: Caller): boolean {
  return caller.grants.some(({ role, database, path }) => {
    return role === 'admin' && database === undefined && path.length === 0;
  });
}

export function administersAnything(caller: Caller): boolean {
  return caller.grants.some(({ role }) => role === 'admin');
}

/**
 * Whether the caller may give or take a grant: on what it administers itself, and nowhere else. No role is more than
 * `admin`, so that within that scope any of them may be given.
 */
export function mayGive(caller: Caller, { database, path }: Grant): boolean {
  if (administersEverything(caller)) return true;
  return database !== undefined && isPermitted(caller, 'administer', database, path);
}

/**
 * Whether the caller may change a key or a client with these grants: only when it administers all that they are for.
 * One without any grant is nobody's but the server's.
 */
export function mayChange(caller: Caller, grants: readonly Grant[]): boolean {
  if (administersEverything(caller)) return true;
  return grants.length > 0 && grants.every((grant) => mayGive(caller, grant));
}

/** The databases in which the caller administers something; `undefined` stands for all of them. */
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

/** `hidden` is answered like absence, `forbidden` with 403. */
export type Decision = 'permitted' | 'forbidden' | 'hidden';

export function authorize(caller: Caller, permission: Permission, target: Target): Decision {
  if (isPermitted(caller, permission, target.database, target.path)) return 'permitted';
  return mayKnow(caller, target) ? 'forbidden' : 'hidden';
}

/**
 * A table has nothing below it. A grant whose path goes on past the table's belongs to a namespace of the same name, and
 * tells nothing about the table.
 */
function mayKnow(caller: Caller, { database, path, kind }: Target): boolean {
  return kind === 'table' ? isPermitted(caller, 'read', database, path) : isVisible(caller, database, path);
}

/** An identity provider whose access tokens are believed, and what their claims permit. */
export interface IssuerSettings {
  /** Exactly as tokens spell it in `iss`. */
  readonly issuer: string;
  readonly audience: string;
  readonly algorithms: readonly string[];
  /** Where the keys are. Without it the issuer's discovery document says so. */
  readonly keySetUrl?: string;
  readonly subjectClaim: string;
  readonly grants: readonly ClaimGrant[];
}

/** Gives `grant` when the claim equals `value`, has it as an element, or as a word of a space-separated text. */
export interface ClaimGrant {
  readonly claim: string;
  readonly value: string;
  readonly grant: Grant;
}

/** Signatures that a holder of the public key cannot make: neither `none` nor any HMAC. */
export const SIGNATURE_ALGORITHMS: readonly string[] = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];
