import { ROLES, SIGNATURE_ALGORITHMS } from '../../model/access.ts';
import { ServiceError } from '../../errors/service-error.ts';
import { DEFAULT_DELIMITER, checkName, parseNamespacePath, quoteForMessage } from '../../model/identifier.ts';
import type { ClaimGrant, IssuerSettings } from '../../model/access.ts';
import { isLoopback } from './text-rules.ts';
import { nameRaw } from './readings.ts';
import type { Reading } from './readings.ts';

const DEFAULT_ALGORITHMS = ['RS256', 'ES256', 'EdDSA', 'PS256'];

const ISSUER_KEYS = ['issuer', 'audience', 'algorithms', 'keySetUrl', 'subjectClaim', 'grants'];
const GRANT_KEYS = ['claim', 'value', 'role', 'database', 'path'];

export function readIssuers(value: unknown): Reading<readonly IssuerSettings[]> {
  if (!Array.isArray(value)) return { faults: [`must be a list of issuers, not ${nameRaw(value)}`] };
  const faults: string[] = [];
  const issuers = value.map((each, index) => readIssuer(each, { at: `[${index}]`, faults }));
  const names = issuers.map((each) => each.issuer);
  const twice = names.find((name, index) => name !== '' && names.indexOf(name) !== index);
  if (twice !== undefined) faults.push(`names the issuer ${quoteForMessage(twice)} twice`);
  return faults.length > 0 ? { faults } : { value: issuers };
}

export function showIssuer(issuer: IssuerSettings): string {
  return `${issuer.issuer} (${issuer.grants.length} grants)`;
}

/** Where in the value a reader stands, and where it leaves its faults. What it returns counts only without faults. */
interface Spot {
  readonly at: string;
  readonly faults: string[];
}

type Fields = Readonly<Record<string, unknown>>;

function readIssuer(value: unknown, spot: Spot): IssuerSettings {
  const fields = requireFields(value, ISSUER_KEYS, spot);
  // OpenID Connect Discovery 1.0, section 2: an issuer has no query.
  if (String(fields['issuer']).includes('?')) spot.faults.push(`${spot.at}.issuer must not have a query`);
  const keySetUrl = fields['keySetUrl'] === undefined ? {} : { keySetUrl: requireUrl(fields, 'keySetUrl', spot) };
  return {
    issuer: requireUrl(fields, 'issuer', spot),
    audience: requireText(fields, 'audience', spot),
    algorithms: readAlgorithms(fields['algorithms'] ?? DEFAULT_ALGORITHMS, spot),
    ...keySetUrl,
    subjectClaim: fields['subjectClaim'] === undefined ? 'sub' : requireText(fields, 'subjectClaim', spot),
    grants: readGrants(fields['grants'] ?? [], spot),
  };
}

function readAlgorithms(value: unknown, spot: Spot): readonly string[] {
  const isList = Array.isArray(value) && value.length > 0;
  if (isList && value.every((each) => typeof each === 'string' && SIGNATURE_ALGORITHMS.includes(each))) return value;
  spot.faults.push(`${spot.at}.algorithms must be a list of some of ${SIGNATURE_ALGORITHMS.join(', ')}`);
  return [];
}

function readGrants(value: unknown, spot: Spot): readonly ClaimGrant[] {
  if (Array.isArray(value)) {
    return value.map((each, index) => readGrant(each, { at: `${spot.at}.grants[${index}]`, faults: spot.faults }));
  }
  spot.faults.push(`${spot.at}.grants must be a list, not ${nameRaw(value)}`);
  return [];
}

function readGrant(value: unknown, spot: Spot): ClaimGrant {
  const fields = requireFields(value, GRANT_KEYS, spot);
  const role = ROLES.find((each) => each === fields['role']);
  if (role === undefined) {
    spot.faults.push(`${spot.at}.role must be one of ${ROLES.join(', ')}`);
  }
  return {
    claim: requireText(fields, 'claim', spot),
    value: requireText(fields, 'value', spot),
    grant: { role: role ?? 'reader', database: readDatabase(fields, spot), path: readPath(fields, spot) },
  };
}

function readDatabase(fields: Fields, spot: Spot): string | undefined {
  if (fields['database'] === undefined) return undefined;
  const name = requireText(fields, 'database', spot);
  if (name !== '') collectRefusal(spot, 'database', () => checkName(name, DEFAULT_DELIMITER));
  return name;
}

/** A path in every database at once is hardly ever meant, and a right given by mistake is not noticed. */
function readPath(fields: Fields, spot: Spot): readonly string[] {
  if (fields['path'] === undefined) return [];
  if (fields['database'] === undefined) spot.faults.push(`${spot.at}.path needs a database beside it`);
  const text = requireText(fields, 'path', spot);
  if (text === '') return [];
  let path: readonly string[] = [];
  collectRefusal(spot, 'path', () => {
    path = parseNamespacePath(text, DEFAULT_DELIMITER);
  });
  return path;
}

function collectRefusal(spot: Spot, key: string, check: () => void): void {
  try {
    check();
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    spot.faults.push(`${spot.at}.${key} is not usable: ${error.message}`);
  }
}

function requireFields(value: unknown, keys: readonly string[], spot: Spot): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    spot.faults.push(`${spot.at} must be an object, not ${nameRaw(value)}`);
    return {};
  }
  const unknownKeys = Object.keys(value).filter((key) => !keys.includes(key));
  for (const key of unknownKeys) {
    spot.faults.push(`${spot.at} has no key ${quoteForMessage(key)}; its keys are ${keys.join(', ')}`);
  }
  return Object.fromEntries(Object.entries(value));
}

function requireText(fields: Fields, key: string, spot: Spot): string {
  const value = fields[key];
  if (typeof value === 'string' && value !== '') return value;
  const fault = value === undefined ? 'is missing' : `must be a text that is not empty, not ${nameRaw(value)}`;
  spot.faults.push(`${spot.at}.${key} ${fault}`);
  return '';
}

/** Keys that arrive over plain http could be anybody's, except on this machine. */
function requireUrl(fields: Fields, key: string, spot: Spot): string {
  const text = requireText(fields, key, spot);
  if (text === '') return text;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(url.hostname));
  const isBare = url?.username === '' && url.password === '' && url.hash === '';
  if (!isSafe || !isBare) {
    const wanted = 'an https address (http on a loopback host only), without user, password and fragment';
    spot.faults.push(`${spot.at}.${key} must be ${wanted}`);
  }
  return text;
}
