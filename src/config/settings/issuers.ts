import { ROLES, SIGNATURE_ALGORITHMS } from '../../model/access.ts';
import { ServiceError } from '../../errors/service-error.ts';
import { DEFAULT_DELIMITER, checkName, parseNamespacePath, quoteForMessage } from '../../model/identifier.ts';
import type { ClaimGrant, IssuerSettings } from '../../model/access.ts';
import { isSafeAddress } from '../../model/address.ts';
import { isObject } from '../../model/strict-json.ts';
import { nameRaw } from './setting-types.ts';
import type { Reading } from './setting-types.ts';

const DEFAULT_ALGORITHMS = ['RS256', 'ES256', 'EdDSA', 'PS256'];

const ISSUER_KEYS = ['issuer', 'audience', 'algorithms', 'keySetUrl', 'subjectClaim', 'grants'];
const GRANT_KEYS = ['claim', 'value', 'role', 'database', 'path'];

export function readIssuers(value: unknown): Reading<readonly IssuerSettings[]> {
  if (!Array.isArray(value)) return { faults: [`must be a list of issuers, not ${nameRaw(value)}`] };
  const faults: string[] = [];
  const issuers = value.map((each, index) => readIssuer(each, { at: `[${index}]`, faults }));
  const names = issuers.map((each) => each.issuer);
  const twice = names.find((name, index) => name !== '' && names.indexOf(name) !== index);
  if (twice !== undefined) faults.push(`has the issuer ${quoteForMessage(twice)} twice`);
  return faults.length > 0 ? { faults } : { value: issuers };
}

export function showIssuer(issuer: IssuerSettings): string {
  return `${issuer.issuer} (${issuer.grants.length} grants)`;
}

/** The path of the part being read, and the list of faults. A result is only valid without faults. */
interface Part {
  readonly at: string;
  readonly faults: string[];
}

type Fields = Readonly<Record<string, unknown>>;

function readIssuer(value: unknown, part: Part): IssuerSettings {
  const fields = requireFields(value, ISSUER_KEYS, part);
  // OpenID Connect Discovery 1.0, section 2: an issuer has no query.
  if (String(fields['issuer']).includes('?')) part.faults.push(`${part.at}.issuer must not have a query`);
  const keySetUrl = fields['keySetUrl'] === undefined ? {} : { keySetUrl: requireUrl(fields, 'keySetUrl', part) };
  return {
    issuer: requireUrl(fields, 'issuer', part),
    audience: requireText(fields, 'audience', part),
    algorithms: readAlgorithms(fields['algorithms'] ?? DEFAULT_ALGORITHMS, part),
    ...keySetUrl,
    subjectClaim: fields['subjectClaim'] === undefined ? 'sub' : requireText(fields, 'subjectClaim', part),
    grants: readGrants(fields['grants'] ?? [], part),
  };
}

function readAlgorithms(value: unknown, part: Part): readonly string[] {
  const isList = Array.isArray(value) && value.length > 0;
  if (isList && value.every((each) => typeof each === 'string' && SIGNATURE_ALGORITHMS.includes(each))) return value;
  part.faults.push(`${part.at}.algorithms must be a list of some of ${SIGNATURE_ALGORITHMS.join(', ')}`);
  return [];
}

function readGrants(value: unknown, part: Part): readonly ClaimGrant[] {
  if (Array.isArray(value)) {
    return value.map((each, index) => readGrant(each, { at: `${part.at}.grants[${index}]`, faults: part.faults }));
  }
  part.faults.push(`${part.at}.grants must be a list, not ${nameRaw(value)}`);
  return [];
}

function readGrant(value: unknown, part: Part): ClaimGrant {
  const fields = requireFields(value, GRANT_KEYS, part);
  const role = ROLES.find((each) => each === fields['role']);
  if (role === undefined) {
    part.faults.push(`${part.at}.role must be one of ${ROLES.join(', ')}`);
  }
  return {
    claim: requireText(fields, 'claim', part),
    value: requireText(fields, 'value', part),
    grant: { role: role ?? 'reader', database: readDatabase(fields, part), path: readPath(fields, part) },
  };
}

function readDatabase(fields: Fields, part: Part): string | undefined {
  if (fields['database'] === undefined) return undefined;
  const name = requireText(fields, 'database', part);
  if (name !== '') readOrCollect(part, 'database', () => checkName(name, DEFAULT_DELIMITER));
  return name;
}

/**
 * A path without a database would apply to all databases, which is hardly ever intended, and a permission granted by
 * mistake goes unnoticed.
 */
function readPath(fields: Fields, part: Part): readonly string[] {
  if (fields['path'] === undefined) return [];
  if (fields['database'] === undefined) part.faults.push(`${part.at}.path needs a database as well`);
  const text = requireText(fields, 'path', part);
  if (text === '') return [];
  return readOrCollect(part, 'path', () => parseNamespacePath(text, DEFAULT_DELIMITER)) ?? [];
}

/** Turns a refusal into a fault. */
function readOrCollect<T>(part: Part, key: string, read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    part.faults.push(`${part.at}.${key} is not valid: ${error.message}`);
    return undefined;
  }
}

function requireFields(value: unknown, keys: readonly string[], part: Part): Fields {
  if (!isObject(value)) {
    part.faults.push(`${part.at} must be an object, not ${nameRaw(value)}`);
    return {};
  }
  const unknownKeys = Object.keys(value).filter((key) => !keys.includes(key));
  for (const key of unknownKeys) {
    part.faults.push(`${part.at} has no key ${quoteForMessage(key)}; its keys are ${keys.join(', ')}`);
  }
  return value;
}

function requireText(fields: Fields, key: string, part: Part): string {
  const value = fields[key];
  if (typeof value === 'string' && value !== '') return value;
  const fault = value === undefined ? 'is missing' : `must be a non-empty string, not ${nameRaw(value)}`;
  part.faults.push(`${part.at}.${key} ${fault}`);
  return '';
}

/** Keys fetched over plain http could be forged, except on this machine. */
function requireUrl(fields: Fields, key: string, part: Part): string {
  const text = requireText(fields, key, part);
  if (text === '') return text;
  if (!isSafeAddress(text)) {
    const wanted = 'an https address (http on a loopback host only), without user, password and fragment';
    part.faults.push(`${part.at}.${key} must be ${wanted}`);
  }
  return text;
}
