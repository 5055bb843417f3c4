import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { ApiClient } from '../client/api-client.ts';
import type { ClientOptions } from '../client/api-client.ts';
import { isLoopback } from '../model/address.ts';
import { isObject, parseJson } from '../model/strict-json.ts';
import { UsageError } from './command.ts';
import type { Terminal } from './command.ts';
import type { Given, Option } from './options.ts';

const DEFAULT_SERVER = 'http://127.0.0.1:2333';
const DEFAULT_DATA = 'data';
export const DEMO_DATA = 'tiltyard-demo';
const KEY_FILE = 'admin.key';
const LOCK_HOLDER_FILE = 'server.lock.json';

/** The options by which every client command finds its server. */
export const SERVER_OPTIONS: readonly Option[] = [
  {
    name: 'server',
    value: 'URL',
    help: `address of the server (default: TILTYARD_URL, that of ./${DEFAULT_DATA}, or ${DEFAULT_SERVER})`,
  },
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
  /** Where the credential came from, for messages; `undefined` if there is none. */
  readonly credential: string | undefined;
  /** Where the address came from, for the case that no server responds. */
  readonly origin?: string | undefined;
}

interface FindOptions extends Pick<ClientOptions, 'answerSecondsMax'> {
  readonly defaultUrl?: string;
}

export function findServer(
  given: Given,
  { env }: Pick<Terminal, 'env'>,
  { defaultUrl = DEFAULT_SERVER, ...options }: FindOptions = {},
): FoundServer {
  // An empty variable counts as absent.
  const variable = (name: string): string | undefined => env[name] || undefined;
  const database = given.value('database') ?? variable('TILTYARD_DATABASE');
  const data = variable('TILTYARD_DATA');
  const folders = data === undefined ? [DEFAULT_DATA, DEMO_DATA] : [data];
  const address = given.value('server') ?? variable('TILTYARD_URL');
  const chosen = findCredential(given, variable);
  // A given secret is never sent to an address that was found in a folder.
  const local = address === undefined && chosen === undefined ? findLocalServer(folders) : undefined;
  const url = requireUrl(address ?? local?.url ?? defaultUrl);
  const { source, ...credential } = chosen ?? findKeyFile(local === undefined ? folders : [local.folder], url);
  const client = new ApiClient({ url: url.href, database, ...credential, ...options });
  return { client, credential: source, origin: local?.origin };
}

interface LocalServer {
  readonly folder: string;
  /** Absent if it has stopped, or its folder does not contain the address. */
  readonly url?: string;
  readonly origin?: string;
}

/** Of the folders with a key, the one whose server is running, otherwise the first. */
function findLocalServer(folders: readonly string[]): LocalServer | undefined {
  const found = folders.filter((folder) => readIfReadable(join(folder, KEY_FILE)) !== undefined).map(readLocalServer);
  return found.find(({ url }) => url !== undefined) ?? found[0];
}

function readLocalServer(folder: string): LocalServer {
  const file = join(folder, LOCK_HOLDER_FILE);
  const holder = parseJson(readIfReadable(file) ?? '');
  const { url, host, pid }: Readonly<Record<string, unknown>> = isObject(holder) ? holder : {};
  if (typeof url !== 'string' || !URL.canParse(url) || !isLoopback(new URL(url).hostname)) return { folder };
  // Processes of another host or container cannot be checked here.
  const isStopped = host === hostname() && typeof pid === 'number' && !isRunning(pid);
  if (isStopped) return { folder, origin: `The server of ${folder}, at ${url}, has stopped.` };
  return { folder, url, origin: `The address is from ${file}.` };
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    // It is running as another user.
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
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

/** Only for a server on this machine: the administrator's key is never sent elsewhere unless requested. */
function findKeyFile(folders: readonly string[], url: URL): Credential {
  if (!isLoopback(url.hostname)) return {};
  for (const file of folders.map((folder) => join(folder, KEY_FILE))) {
    const text = readIfReadable(file);
    if (text !== undefined) return { key: requireSecret(file, text), source: file };
  }
  return {};
}

function readIfReadable(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

/** Only characters that are allowed in a header. */
function requireSecret(source: string, text: string): string {
  const secret = text.trim();
  if (/^[\u0021-\u007e]+$/.test(secret)) return secret;
  throw new UsageError(`${source} is not a key: it is empty or has invalid characters.`);
}
