import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ApiClient } from '../client/api-client.ts';
import { isLoopback } from '../model/address.ts';
import { CommandFault } from './command.ts';
import type { Terminal } from './command.ts';
import type { Given, Option } from './options.ts';

export const DEFAULT_SERVER = 'http://127.0.0.1:2333';
const DEFAULT_DATA = 'data';
const KEY_FILE = 'admin.key';

/** How every command that is a client finds its server. */
export const SERVER_OPTIONS: readonly Option[] = [
  { name: 'server', value: 'URL', help: `address of the server; TILTYARD_URL, else ${DEFAULT_SERVER}` },
  {
    name: 'key',
    value: 'KEY',
    help: 'API key, or @FILE that holds it; TILTYARD_KEY, else data/admin.key of a server here',
  },
  { name: 'token', value: 'TOKEN', help: 'access token in place of a key, or @FILE; TILTYARD_TOKEN' },
  { name: 'database', value: 'NAME', help: 'database to work in; TILTYARD_DATABASE, else the default one' },
];

export interface FoundServer {
  readonly client: ApiClient;
  /** Where the credential came from, for messages; `undefined` when there is none. */
  readonly credential: string | undefined;
}

export function findServer(given: Given, { env }: Terminal): FoundServer {
  const url = requireUrl(given.value('server') ?? textOf(env['TILTYARD_URL']) ?? DEFAULT_SERVER);
  const database = given.value('database') ?? textOf(env['TILTYARD_DATABASE']);
  const { source, ...credential } = findCredential(given, env, url);
  return { client: new ApiClient({ url: url.href, database, ...credential }), credential: source };
}

function requireUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isUsable = url !== undefined && /^https?:$/.test(url.protocol) && url.username === '' && url.search === '';
  if (url !== undefined && isUsable) return url;
  throw new CommandFault([`--server must be an address such as ${DEFAULT_SERVER}, not "${text}".`]);
}

interface Credential {
  readonly key?: string;
  readonly token?: string;
  readonly source?: string;
}

function findCredential(given: Given, env: Terminal['env'], url: URL): Credential {
  const token = given.value('token');
  const key = given.value('key');
  if (token !== undefined && key !== undefined) throw new CommandFault(['Give --key or --token, not both.']);
  if (key !== undefined) return { key: readSecret('--key', key), source: '--key' };
  if (token !== undefined) return { token: readSecret('--token', token), source: '--token' };
  const ofKey = textOf(env['TILTYARD_KEY']);
  if (ofKey !== undefined) return { key: readSecret('TILTYARD_KEY', ofKey), source: 'TILTYARD_KEY' };
  const ofToken = textOf(env['TILTYARD_TOKEN']);
  if (ofToken !== undefined) return { token: readSecret('TILTYARD_TOKEN', ofToken), source: 'TILTYARD_TOKEN' };
  return findKeyFile(env, url);
}

/** Only for a server on this machine: the administrator's key is sent nowhere else unasked. */
function findKeyFile(env: Terminal['env'], url: URL): Credential {
  if (!isLoopback(url.hostname.replaceAll(/[[\]]/g, ''))) return {};
  const file = join(textOf(env['TILTYARD_DATA']) ?? DEFAULT_DATA, KEY_FILE);
  try {
    return { key: requireSecret(file, readFileSync(file, 'utf8')), source: file };
  } catch (error) {
    if (error instanceof CommandFault) throw error;
    return {};
  }
}

/** Secrets on a command line are seen by everyone on the machine, so that they can stand in a file. */
function readSecret(origin: string, text: string): string {
  if (!text.startsWith('@')) return requireSecret(origin, text);
  return requireSecret(origin, readFileSync(text.slice(1), 'utf8'));
}

/** As it can stand in a header. */
function requireSecret(origin: string, text: string): string {
  const secret = text.trim();
  if (/^[\u0021-\u007e]+$/.test(secret)) return secret;
  throw new CommandFault([`${origin} holds no key: it is empty, or has characters that a key never has.`]);
}

function textOf(variable: string | undefined): string | undefined {
  return variable === '' ? undefined : variable;
}
