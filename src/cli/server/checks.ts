import { access, constants, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { ensureRoot, inspectConfiguredCatalog } from '../../app/configured-catalog.ts';
import { findEngine, requireServedRoot } from '../../app/installed-engine.ts';
import { defined } from '../../client/api-client.ts';
import { ClientError, ConnectionError } from '../../client/client-error.ts';
import type { Config } from '../../config/config.ts';
import { ServiceError } from '../../errors/service-error.ts';
import { formatBytes } from '../../plans/format-figure.ts';
import { adviseOnConnection } from '../client-command.ts';
import type { FoundServer } from '../find-server.ts';

export interface Check {
  readonly name: string;
  /** `warning`: it works, but not for long, or not as it should. */
  readonly state: 'good' | 'warning' | 'bad';
  readonly found: string;
  readonly advice?: string;
}

export function good(name: string, found: string): Check {
  return { name, state: 'good', found };
}

function warning(name: string, found: string, advice: string): Check {
  return { name, state: 'warning', found, advice };
}

export function bad(name: string, found: string, advice: string): Check {
  return { name, state: 'bad', found, advice };
}

/** Checks of this machine that need no running server. */
export async function checkMachine(config: Config): Promise<readonly Check[]> {
  const engine = checkEngine(config);
  const data = await checkFolder('data folder', config.data);
  if (data.state === 'bad') return [engine, data];
  const checks = [engine, data, await checkSpace(config.data), await checkCatalog(config), await checkKeyFile(config)];
  const { root } = config.storage;
  if (root.includes('://')) return [...checks, await checkStore(config)];
  return root === config.data ? checks : [...checks, await checkFolder('storage', root)];
}

function checkEngine({ storage }: Config): Check {
  try {
    const { version, isFallback } = findEngine({ load: true });
    requireServedRoot(storage.root);
    const name = `@lancedb/lancedb ${version}`;
    if (!isFallback) return good('engine', name);
    return warning('engine', `${name} (fallback)`, FALLBACK_ADVICE);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return bad('engine', error.message, error.hint ?? '');
  }
}

const FALLBACK_ADVICE =
  'It does not support tables in object stores. Run "node scripts/install-engine.mjs" to look for the main engine again.';

async function checkFolder(name: string, folder: string): Promise<Check> {
  const found = await stat(folder).catch(() => undefined);
  const no = (problem: string, advice: string): Check => bad(name, `${folder} ${problem}`, advice);
  if (found === undefined) {
    return no('does not exist', 'Start the server once, or give the right folder: tiltyard doctor DATA.');
  }
  if (!found.isDirectory()) return no('is not a folder', 'Give the data folder of the server.');
  try {
    await access(folder, constants.R_OK | constants.W_OK | constants.X_OK);
    return good(name, `${folder} is readable and writable`);
  } catch {
    return no(
      'is not readable and writable',
      'Run this command as the user of the server, or change the owner of the folder.',
    );
  }
}

const STORE_SECONDS = 10;

/** Like the server at its start: with small objects that are removed again. */
async function checkStore(config: Config): Promise<Check> {
  const { root } = config.storage;
  const patience = { requestSeconds: STORE_SECONDS, requestAttemptsMax: 1 };
  try {
    await ensureRoot(root, { ...config, storage: { ...config.storage, ...patience } });
    return good('storage', `${root} is readable and writable`);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    const advice =
      'Check storage.root, storage.options and the credentials: run this command as the user of the server.';
    return bad('storage', error.message, error.hint ?? advice);
  }
}

const FREE_BYTES_MIN = 1024 ** 3;
const FREE_SHARE_MIN = 0.05;

async function checkSpace(folder: string): Promise<Check> {
  const { bavail, bsize, blocks } = await statfs(folder);
  const free = bavail * bsize;
  const found = `${formatBytes(free)} of ${formatBytes(blocks * bsize)} free`;
  if (free >= FREE_BYTES_MIN && bavail / blocks >= FREE_SHARE_MIN) return good('space', found);
  const advice = 'Free some space: writes fail when the disk is full. "tiltyard optimize TABLE" removes old versions.';
  return warning('space', found, advice);
}

const CATALOG_STATES = {
  absent: ['warning', 'does not exist yet', 'The server creates it at its first start.'],
  current: ['good', 'is intact and up to date', undefined],
  older: ['warning', 'is from an older release', 'The server migrates it at its next start. Copy it first.'],
  newer: ['bad', 'is from a newer release', 'Use that release or a later one.'],
  damaged: ['bad', 'is damaged or not readable', 'Stop the server, and restore the file from a backup.'],
  unreachable: [
    'bad',
    'cannot be reached or read',
    'Check catalog.url, and that PostgreSQL runs and accepts the user.',
  ],
} as const;

async function checkCatalog(config: Config): Promise<Check> {
  const [state, found, advice] = CATALOG_STATES[await inspectConfiguredCatalog(config)];
  // The address contains a password.
  const name = config.catalog.url === undefined ? config.catalogFile : 'the PostgreSQL database of catalog.url';
  return { name: 'catalog', state, found: `${name} ${found}`, ...defined({ advice }) };
}

/** The key allows everything, so only its owner should be able to read it. */
async function checkKeyFile({ data }: Config): Promise<Check> {
  const file = join(data, 'admin.key');
  const found = await stat(file).catch(() => undefined);
  if (found === undefined) return good('admin.key', 'not stored in the data folder');
  if ((found.mode & 0o077) === 0) return good('admin.key', 'readable by its owner only');
  return warning('admin.key', 'readable by others', `chmod 600 ${file}`);
}

const adviseOnReady = (): string => 'Read the log of the server for the reason.';
const adviseOnKey = (): string => 'Give a key with --key @FILE or TILTYARD_KEY.';

export async function checkServer({ client, credential, origin }: FoundServer): Promise<readonly Check[]> {
  let clock = good('clock', '');
  const answers = good('server', `${client.url} answers`);
  const server = await checkRequest(
    answers,
    (error) => adviseOnConnection(error, { origin }),
    async () => {
      const reply = await client.open('/healthz');
      await reply.body?.cancel();
      clock = checkClock(reply);
    },
  );
  if (server.state === 'bad') return [server];
  const accepted = good('key', credential === undefined ? 'not required' : `${credential} is accepted`);
  return [
    server,
    await checkRequest(good('ready', 'serving requests'), adviseOnReady, async () => client.text('/readyz')),
    clock,
    await checkRequest(accepted, adviseOnKey, async () => client.text('/v1/tables', { query: { limit: 1 } })),
  ];
}

const SKEW_SECONDS_MAX = 30;

/** A wrong clock makes tokens expire at the wrong time. */
function checkClock(reply: Response): Check {
  const theirs = Date.parse(reply.headers.get('date') ?? '');
  if (Number.isNaN(theirs)) return good('clock', 'the server sends no time');
  const seconds = Math.round(Math.abs(Date.now() - theirs) / 1000);
  if (seconds <= SKEW_SECONDS_MAX) return good('clock', 'agrees with the server');
  const advice = 'Synchronize both clocks: tokens expire too early or too late.';
  return warning('clock', `differs from the server by ${seconds} s`, advice);
}

async function checkRequest(
  success: Check,
  advise: (error: ClientError | ConnectionError) => string,
  request: () => Promise<unknown>,
): Promise<Check> {
  try {
    await request();
    return success;
  } catch (error) {
    if (error instanceof ClientError || error instanceof ConnectionError)
      return bad(success.name, error.message, advise(error));
    throw error;
  }
}
