import { access, constants, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import { inspectConfiguredCatalog } from '../app/offline.ts';
import { formatBytes } from '../plans/format-figure.ts';
import type { Check } from './doctor-check.ts';
import { bad, good, warning } from './doctor-check.ts';

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
