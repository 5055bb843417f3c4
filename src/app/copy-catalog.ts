import { existsSync, realpathSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { isPostgresAddress, openStore } from '../catalog/catalog.ts';
import { copyRows } from '../catalog/copy/copy-rows.ts';
import type { CopiedRows, CopyProgress } from '../catalog/copy/copy-rows.ts';
import { migrate } from '../catalog/schema/migrations.ts';
import type { CatalogState } from '../catalog/schema/migrations.ts';
import type { CatalogStore, Sql } from '../catalog/store.ts';
import { tryLockFile } from '../coordination/file-lock.ts';
import type { FileLock } from '../coordination/file-lock.ts';
import { ServiceError, invalidInput } from '../errors/service-error.ts';
import { createFolder } from '../model/storage/create-folder.ts';
import { WAIT_MILLISECONDS, inspectCatalogAt } from './configured-catalog.ts';

export type { CopiedRows, CopyProgress } from '../catalog/copy/copy-rows.ts';

interface CatalogCopy {
  /** SQLite files, or `postgres://` addresses. */
  readonly from: string;
  readonly to: string;
  readonly onProgress: (progress: CopyProgress) => void;
}

/** Copies all rows of a catalog that no server uses to a new or empty one. After a failure the target is unchanged. */
export async function copyCatalog({ from, to, onProgress }: CatalogCopy): Promise<CopiedRows> {
  if (isSame(from, to)) throw invalidInput('Both catalogs are the same.', 'Give a new file or database.');
  requireState(from, await inspectCatalogAt(from), ['current', 'older']);
  requireState(to, await inspectCatalogAt(to), ['current', 'absent']);
  const locks = isPostgresAddress(from) ? [] : lockServerFiles(from);
  const opened: CatalogStore[] = [];
  const open = async (address: string): Promise<CatalogStore> => {
    const store = await openStore({ address, waitMilliseconds: WAIT_MILLISECONDS, connectionsMax: 1 });
    opened.push(store);
    return store;
  };
  try {
    const source = await open(from);
    const requireUnused = async (sql: Sql): Promise<void> => {
      if (isPostgresAddress(from)) await requireNoNode(from, sql);
    };
    await source.read(requireUnused);
    await migrate(source, Date.now());
    if (!isPostgresAddress(to)) createFolder(dirname(resolve(to)), 0o700);
    const target = await open(to);
    await migrate(target, Date.now());
    return await copyRows({ source, target, now: Date.now(), requireUnused, onProgress });
  } finally {
    for (const store of opened) await store.close();
    for (const lock of locks) lock.close();
  }
}

/** Never returns the address of a database, which contains a password. */
export function nameCatalog(address: string): string {
  if (!isPostgresAddress(address)) return resolve(address);
  return `the PostgreSQL database ${new URL(address).pathname.slice(1)}`;
}

function isSame(one: string, other: string): boolean {
  if (isPostgresAddress(one) || isPostgresAddress(other)) return one === other;
  return toRealPath(one) === toRealPath(other);
}

function toRealPath(file: string): string {
  return existsSync(file) ? realpathSync(file) : resolve(file);
}

const STATES: Readonly<Record<CatalogState, readonly [problem: string, hint: string]>> = {
  absent: ['has no catalog', 'Give the file or database of an existing catalog.'],
  current: ['already has a catalog', 'Give a new file or database.'],
  older: ['already has a catalog of an older release', 'Give a new file or database.'],
  newer: ['has a catalog of a newer release', 'Use that release, or a later one.'],
  damaged: ['cannot be read or is not a catalog', 'Restore it from a backup.'],
  unreachable: ['cannot be reached or read', 'Check the address, and that PostgreSQL runs and accepts the user.'],
};

/** Refuses a catalog that is in none of the wanted states. */
export function requireState(address: string, state: CatalogState, wanted: readonly CatalogState[]): void {
  if (wanted.includes(state)) return;
  const [problem, hint] = STATES[state];
  const name = nameCatalog(address);
  throw invalidInput(`${name.charAt(0).toUpperCase()}${name.slice(1)} ${problem}.`, hint);
}

/** A server locks its data folder, which may contain the file, or a catalog file elsewhere. */
function lockServerFiles(address: string): readonly FileLock[] {
  const file = realpathSync(address);
  const candidates = [`${file}.lock`];
  for (let folder = dirname(file); ; folder = dirname(folder)) {
    candidates.push(join(folder, 'server.lock'));
    if (folder === dirname(folder)) break;
  }
  const locks: FileLock[] = [];
  for (const candidate of candidates.filter((each) => existsSync(each))) {
    const lock = tryLockFile(candidate);
    if (lock === undefined) {
      for (const each of locks) each.close();
      throw inUse(address, 'a server', 'Stop it first.');
    }
    locks.push(lock);
  }
  return locks;
}

async function requireNoNode(address: string, sql: Sql): Promise<void> {
  const { findLiveNode } = await import('../catalog/postgres/inspect-catalog.ts');
  const node = await findLiveNode(sql);
  if (node !== undefined)
    throw inUse(
      address,
      `the node ${node}`,
      'Stop it first. A node that was killed counts as stopped when its lease expires.',
    );
}

function inUse(address: string, user: string, hint: string): ServiceError {
  return new ServiceError('ServiceUnavailable', `The catalog in ${nameCatalog(address)} is in use by ${user}.`, {
    hint,
  });
}
