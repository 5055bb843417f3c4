import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ApiClient } from '../client/api-client.ts';
import type { ClientOptions } from '../client/api-client.ts';
import { isLoopback } from '../model/address.ts';
import { UsageError } from './command.ts';
import type { Terminal } from './command.ts';
import type { Given, Option } from './options.ts';

const DEFAULT_SERVER = 'http://127.0.0.1:2333';
const DEFAULT_DATA = 'data';
export const DEMO_DATA = 'tiltyard-demo';
const KEY_FILE = 'admin.key';

/** How every command that is a client finds its server. */
export const SERVER_OPTIONS: readonly Option[] = [
  { name: 'server', value: 'URL', help: `address of the server (default: TILTYARD_URL, or ${DEFAULT_SERVER})` },
  {
    name: 'key',
    value: 'KEY',
    help: 'API key, or @FILE with it (default: TILTYARD_KEY, or admin.key of a server on this machine)',
  },
  { name: 'token', value: 'TOKEN', help: 'access token instead of a key, or @FILE with it (default: TILTYARD_TOKEN)' },
  { name: 'database', value: 'NAME', help: 'database (default: TILTYARD_DATABASE, or "default")' },
];

export interface FoundServer {
  readonly client: ApiClient;
  /** Where the credential came from, for messages; `undefined` when there is none. */
  readonly credential: string | undefined;
}

export function findServer(
  given: Given,
  { env }: Pick<Terminal, 'env'>,
  options: Pick<ClientOptions, 'answerSecondsMax'> = {},
): FoundServer {
  // An empty variable counts as absent.
  const variable = (name: string): string | undefined => env[name] || undefined;
  const url = requireUrl(given.value('server') ?? variable('TILTYARD_URL') ?? DEFAULT_SERVER);
  const database = given.value('database') ?? variable('TILTYARD_DATABASE');
  const data = variable('TILTYARD_DATA');
  const { source, ...credential } =
    findCredential(given, variable) ?? findKeyFile(data === undefined ? [DEFAULT_DATA, DEMO_DATA] : [data], url);
  return { client: new ApiClient({ url: url.href, database, ...credential, ...options }), credential: source };
}

function requireUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isUsable = url !== undefined && /^https?:$/.test(url.protocol) && url.username === '' && url.search === '';
  if (isUsable) return url;
  throw new UsageError(`--server must be an address such as ${DEFAULT_SERVER}, not "${text}".`);
}

interface Credential extends Pick<ClientOptions, 'key' | 'token'> {
  readonly source?: string;
}

function findCredential(given: Given, variable: (name: string) => string | undefined): Credential | undefined {
  const [key, token] = [given.value('key'), given.value('token')];
  if (key !== undefined && token !== undefined) throw new UsageError('Give --key or --token, not both.');
  const sources = [
    { kind: 'key', source: '--key', text: key },
    { kind: 'token', source: '--token', text: token },
    { kind: 'key', source: 'TILTYARD_KEY', text: variable('TILTYARD_KEY') },
    { kind: 'token', source: 'TILTYARD_TOKEN', text: variable('TILTYARD_TOKEN') },
  ];
  const { kind = '', source = '', text } = sources.find((each) => each.text !== undefined) ?? {};
  if (text === undefined) return undefined;
  // Everyone on the machine can see a command line, so a secret may be in a file instead.
  const secret = text.startsWith('@') ? readFileSync(text.slice(1), 'utf8') : text;
  return { [kind]: requireSecret(source, secret), source };
}

/** Only for a server on this machine: the administrator's key is never sent elsewhere unasked. */
function findKeyFile(folders: readonly string[], url: URL): Credential {
  if (!isLoopback(url.hostname.replaceAll(/[[\]]/g, ''))) return {};
  for (const file of folders.map((folder) => join(folder, KEY_FILE))) {
    try {
      return { key: requireSecret(file, readFileSync(file, 'utf8')), source: file };
    } catch (error) {
      if (error instanceof UsageError) throw error;
    }
  }
  return {};
}

/** Only characters that a header may hold. */
function requireSecret(source: string, text: string): string {
  const secret = text.trim();
  if (/^[\u0021-\u007e]+$/.test(secret)) return secret;
  throw new UsageError(`${source} is not a key: it is empty or has invalid characters.`);
}
