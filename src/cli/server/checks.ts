import { access, constants, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../../config/config.ts';
import { inspectConfiguredCatalog } from '../../app/offline.ts';
import { formatBytes } from '../../plans/format-figure.ts';
import type { ApiClient } from '../../client/api-client.ts';
import { ClientError, ConnectionError } from '../../client/client-error.ts';
import type { FoundServer } from '../find-server.ts';

/** What can be seen on this machine, whether a server runs or not. */
export async function checkHere(config: Config): Promise<readonly Check[]> {
  const data = await checkFolder('data folder', config.data);
  if (data.state === 'bad') return [data];
  const isLocal = !config.storage.root.includes('://');
  const isApart = isLocal && config.storage.root !== config.data;
  return [
    data,
    await checkSpace(config.data),
    checkCatalog(config),
    await checkKeyFile(config),
    ...(isApart ? [await checkFolder('storage', config.storage.root)] : []),
    ...(isLocal ? [] : [good('storage', `${config.storage.root} (an object store: the server asks it)`)]),
  ];
}

async function checkFolder(name: string, folder: string): Promise<Check> {
  const found = await stat(folder).catch(() => undefined);
  if (found === undefined)
    return bad(
      name,
      `${folder} is not there`,
      'Start the server once, or name the right folder: tiltyard doctor DATA.',
    );
  if (!found.isDirectory())
    return bad(name, `${folder} is no folder`, 'Name the folder in which the server keeps its data.');
  const isUsable = await access(folder, constants.R_OK | constants.W_OK | constants.X_OK).then(
    () => true,
    () => false,
  );
  if (isUsable) return good(name, `${folder} can be read and written`);
  return bad(
    name,
    `${folder} cannot be read and written`,
    'Run this as the user of the server, or give that user the folder.',
  );
}

const FREE_BYTES_LEAST = 1024 ** 3;
const FREE_SHARE_LEAST = 0.05;

async function checkSpace(folder: string): Promise<Check> {
  const { bavail, bsize, blocks } = await statfs(folder);
  const free = bavail * bsize;
  const shown = `${formatBytes(free)} of ${formatBytes(blocks * bsize)} free`;
  if (free >= FREE_BYTES_LEAST && bavail / blocks >= FREE_SHARE_LEAST) return good('space', shown);
  return warning(
    'space',
    shown,
    'Make room: writes fail when the disk is full. "tiltyard optimize TABLE" removes old versions.',
  );
}

function checkCatalog(config: Config): Check {
  const file = config.catalogFile;
  switch (inspectConfiguredCatalog(config)) {
    case 'absent':
      return warning('catalog', `${file} is not there yet`, 'The first start of the server makes it.');
    case 'current':
      return good('catalog', `${file} is sound and up to date`);
    case 'older':
      return warning(
        'catalog',
        `${file} is of an older release`,
        'The next start of the server brings it up to date; copy it first.',
      );
    case 'newer':
      return bad('catalog', `${file} is of a newer release`, 'Start that release, or a later one.');
    case 'damaged':
      return bad(
        'catalog',
        `${file} cannot be read, or is damaged`,
        'Stop the server, and put the file back from a backup.',
      );
  }
}

/** Whoever reads the key may do everything. */
async function checkKeyFile(config: Config): Promise<Check> {
  const file = join(config.data, 'admin.key');
  const found = await stat(file).catch(() => undefined);
  if (found === undefined) return good('admin.key', 'not kept in the data folder');
  if ((found.mode & 0o077) === 0) return good('admin.key', 'readable by its owner alone');
  return warning('admin.key', 'readable by others', `chmod 600 ${file}`);
}

/** One thing that was looked at. */
export interface Check {
  readonly name: string;
  /** `warning`: it works, but not for long, or not as it should. */
  readonly state: 'good' | 'warning' | 'bad';
  readonly found: string;
  /** What to do. */
  readonly advice?: string;
}

export function good(name: string, found: string): Check {
  return { name, state: 'good', found };
}

export function warning(name: string, found: string, advice: string): Check {
  return { name, state: 'warning', found, advice };
}

export function bad(name: string, found: string, advice: string): Check {
  return { name, state: 'bad', found, advice };
}

const SKEW_SECONDS_MAX = 30;

/** What a running server answers. */
export async function checkServer({ client, credential }: FoundServer): Promise<readonly Check[]> {
  try {
    const answer = await client.open('/healthz');
    await answer.body?.cancel();
    return [
      good('server', `${client.url} answers`),
      await checkReady(client),
      checkClock(answer),
      await checkKey(client, credential),
    ];
  } catch (error) {
    return [toCheck('server', error, 'Start it with "tiltyard serve", or name another with --server URL.')];
  }
}

async function checkReady(client: ApiClient): Promise<Check> {
  try {
    await client.text('/readyz');
    return good('ready', 'requests are served');
  } catch (error) {
    return toCheck('ready', error, 'Look into its log for the reason.');
  }
}

/** Tokens are only as good as the clocks. */
function checkClock(answer: Response): Check {
  const theirs = Date.parse(answer.headers.get('date') ?? '');
  if (Number.isNaN(theirs)) return good('clock', 'the server tells no time');
  const seconds = Math.round(Math.abs(Date.now() - theirs) / 1000);
  if (seconds <= SKEW_SECONDS_MAX) return good('clock', 'agrees with the server');
  return warning(
    'clock',
    `differs from the server by ${seconds} s`,
    'Set both clocks by the network: tokens expire too early or too late.',
  );
}

async function checkKey(client: ApiClient, credential: string | undefined): Promise<Check> {
  try {
    await client.text('/v1/tables', { query: { limit: 1 } });
    return good('key', credential === undefined ? 'none is needed' : `${credential} is accepted`);
  } catch (error) {
    return toCheck('key', error, 'Give a key with --key @FILE or TILTYARD_KEY; "tiltyard key create" makes one.');
  }
}

function toCheck(name: string, error: unknown, advice: string): Check {
  if (error instanceof ClientError || error instanceof ConnectionError) return bad(name, error.message, advice);
  throw error;
}
