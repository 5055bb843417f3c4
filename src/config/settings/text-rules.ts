import { isIP } from 'node:net';
import { findRootFault, isSafeAddress } from '../../model/address.ts';
import { mustBe, mustBeOnly } from './setting-types.ts';
import type { Reading } from './setting-types.ts';

const SECRET_CHARACTERS_MIN = 32;
const SECRET_CHARACTERS_MAX = 512;
const HOST_CHARACTERS_MAX = 253;
const OBJECT_STORE = /^(s3|gs|az):\/\/[^/\s]+/;
const ROLE_CHARACTERS_MAX = 2048;
const ROLE = /^arn:[a-z-]+:iam::\d*:role\/[\w+=,.@/-]+$/;
const ADDRESS = /^[a-z][a-z0-9+.-]*:\/\//i;

export function readHost(text: string): Reading<string> {
  return isIP(text) !== 0 || isHostName(text) ? { value: text } : mustBe('a host name or an IP address', text);
}

/** An address, or a network such as `10.0.0.0/8`. */
export function readNetwork(text: string): Reading<string> {
  const [address = '', prefix = '0', ...rest] = text.split('/');
  const bits = isIP(address) === 4 ? 32 : 128;
  const isPrefix = /^\d{1,3}$/.test(prefix) && Number(prefix) <= bits;
  const isNetwork = isIP(address) !== 0 && isPrefix && rest.length === 0;
  return isNetwork ? { value: text } : mustBe('an IP address, or a network such as 10.0.0.0/8', text);
}

/** In lower case and without the leading dot, as host names are compared. */
export function readHostSuffix(text: string): Reading<string> {
  const suffix = text.replace(/^\./, '').toLowerCase();
  return isHostName(suffix) ? { value: suffix } : mustBe('a host name, such as tables.example.com', text);
}

/** `x/y/` becomes `/x/y`; the root becomes the empty text. */
export function readBasePath(text: string): Reading<string> {
  const trimmed = text.replace(/^\//, '').replace(/\/$/, '');
  if (trimmed === '') return { value: '' };
  const names = trimmed.split('/');
  const isPlain = names.every((name) => /^[\w.~-]+$/.test(name) && name !== '.' && name !== '..');
  return isPlain ? { value: `/${names.join('/')}` } : mustBe('a URL path of plain names, such as /lance', text);
}

/** Secrets are sent in headers, which only allow visible characters. */
export function readSecret(text: string): Reading<string> {
  const isFit = text.length >= SECRET_CHARACTERS_MIN && text.length <= SECRET_CHARACTERS_MAX;
  if (isFit && /^[\x21-\x7e]+$/.test(text)) return { value: text };
  const bounds = `${SECRET_CHARACTERS_MIN} to ${SECRET_CHARACTERS_MAX}`;
  return mustBeOnly(`${bounds} visible ASCII characters without spaces`);
}

/** Issued by others, so it may be short; also sent in a header. */
export function readProviderKey(text: string): Reading<string> {
  if (/^[\x21-\x7e]{1,4096}$/.test(text)) return { value: text };
  return mustBeOnly('1 to 4096 visible ASCII characters without spaces');
}

/** The catalog is a local file, so its folder must be local too. */
export function readDataFolder(text: string): Reading<string> {
  if (text === '') return mustBeOnly('a folder');
  if (!ADDRESS.test(text)) return { value: text };
  return mustBe('a local folder (set an object store with --storage-root)', text);
}

export function readStorageRoot(text: string): Reading<string> {
  const fault = findRootFault(text);
  if (fault !== undefined) return { faults: [`must not contain ${fault.found}. ${fault.advice}`] };
  if (text !== '' && (isObjectStore(text) || !ADDRESS.test(text))) return { value: text };
  return mustBe('a folder or an address that starts with s3://, gs:// or az:// and a bucket', text);
}

/** Clients send their secrets to this address. Removes trailing slashes. */
export function readIssuerUrl(text: string): Reading<string> {
  if (isSafeAddress(text) && !text.includes('?')) return { value: text.replace(/\/+$/, '') };
  return mustBeOnly('an https address (http on a loopback host only), without user, password, query and fragment');
}

/** Never quoted, because it contains a password. */
export function readCatalogUrl(text: string): Reading<string> {
  const isAddress = /^postgres(?:ql)?:\/\//.test(text) && URL.canParse(text);
  if (isAddress && /^\/[^/]+$/.test(new URL(text).pathname)) return { value: text };
  return mustBeOnly('the address of a PostgreSQL database, such as postgres://USER:PASSWORD@HOST:5432/DATABASE');
}

/** Removes trailing slashes. Not quoted, because an embedded user and password are the likely fault. */
export function readHttpAddress(text: string): Reading<string> {
  if (/^https?:\/\/[^/]/i.test(text) && !/[?#\s\\]/.test(text) && URL.canParse(text)) {
    const { username, password } = new URL(text);
    if (username === '' && password === '') return { value: text.replace(/\/+$/, '') };
  }
  return mustBeOnly(
    'an http or https address without user, password, query and fragment, such as http://10.0.0.7:2333',
  );
}

/** A role of AWS, or of a compatible store, which may omit the account. */
export function readRole(text: string): Reading<string> {
  if (text.length <= ROLE_CHARACTERS_MAX && ROLE.test(text)) return { value: text };
  return mustBe('the ARN of a role, such as arn:aws:iam::123456789012:role/tables', text);
}

export function isObjectStore(root: string): boolean {
  return OBJECT_STORE.test(root);
}

function isHostName(text: string): boolean {
  if (text.length > HOST_CHARACTERS_MAX) return false;
  return text.split('.').every((label) => /^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$/i.test(label));
}
