import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import { openCatalog } from '../../src/catalog/catalog.ts';
import type { Catalog, CatalogSettings, CommitEntry, NewCommit, RecordedCommit } from '../../src/catalog/catalog.ts';
import { ServiceError } from '../../src/errors/service-error.ts';
import type { ErrorName } from '../../src/errors/service-error.ts';
import type { Database, TableRecord } from '../../src/model/table.ts';
import { startPostgres } from '../support/postgres.ts';
import { makeFolder } from '../support/temporary-folder.ts';
import type { NamespacePath, TablePath } from '../../src/model/identifier.ts';

/** For the option `skip` of a test. */
export const ON_POSTGRES = process.env['TILTYARD_TEST_CATALOG'] === 'postgres';
export const CHILD = fileURLToPath(new URL('./child.js', import.meta.url));
export const NOW = 1_700_000_000_000;
export const ENTRY: CommitEntry = { operation: 'create_table', caller: 'key:k', version: 1, requestId: 'request-1' };

/** The address of an empty catalog: in a file of SQLite, or where `TILTYARD_TEST_CATALOG` says so in PostgreSQL. */
export async function temporaryFile(context: TestContext): Promise<string> {
  if (ON_POSTGRES) return (await startPostgres()).createDatabase();
  const folder = await makeFolder(context);
  return join(folder, 'catalog.db');
}

export async function open(context: TestContext, address: string, waitMilliseconds = 30_000): Promise<Catalog> {
  return openWith(context, { address, waitMilliseconds });
}

/** The catalog as one of several nodes opens it. */
export async function openNode(
  context: TestContext,
  address: string,
  nodeId: string,
  waitMilliseconds = 30_000,
): Promise<Catalog> {
  return openWith(context, { address, nodeId, waitMilliseconds });
}

async function openWith(
  context: TestContext,
  settings: Pick<CatalogSettings, 'address' | 'nodeId' | 'waitMilliseconds'>,
): Promise<Catalog> {
  const catalog = await openCatalog({
    ...settings,
    storageRoot: '/roots',
    connectionsMax: 4,
    journal: { windowSeconds: 60, keySeconds: 86_400, keysMax: 1000 },
    cacheBytes: 1_000_000,
    now: () => NOW,
  });
  context.after(async () => catalog.close());
  return catalog;
}

export interface TemporaryCatalog {
  readonly file: string;
  readonly catalog: Catalog;
  readonly database: Database;
}

export async function temporaryCatalog(context: TestContext): Promise<TemporaryCatalog> {
  const file = await temporaryFile(context);
  const catalog = await open(context, file);
  const database = await catalog.databases.create({ name: 'default', root: '/data' });
  return { file, catalog, database };
}

export async function createTable(
  catalog: Catalog,
  databaseId: string,
  path: TablePath,
  properties: Readonly<Record<string, string>> = {},
): Promise<TableRecord> {
  const reservation = await catalog.tables.reserve({ databaseId, path, root: '/data', caller: 'key:k' });
  await catalog.tables.publish(reservation, { ...ENTRY, properties });
  const table = await catalog.tables.find(databaseId, path);
  if (table === undefined) throw new Error('The published table is not there.');
  return table;
}

/** Of the table at a path, which lookups do not show while it is reserved. */
export async function findState(
  { tables }: Catalog,
  databaseId: string,
  path: TablePath,
): Promise<'absent' | 'reserved' | 'published' | 'declared'> {
  const [found] = await tables.list({ databaseId, paths: [path], limit: 1 });
  if (found !== undefined) return found.isDeclared === true ? 'declared' : 'published';
  const { reservations } = await tables.unfinished();
  const isReserved = reservations.some((each) => each.databaseId === databaseId && isDeepStrictEqual(each.path, path));
  return isReserved ? 'reserved' : 'absent';
}

/** As a write of several commits leaves the table when a crash cuts it short. */
export async function holdVersion(
  { journal }: Catalog,
  tableId: string,
  { version, branch }: { readonly version: number; readonly branch?: string | undefined },
): Promise<void> {
  const id = randomUUID();
  const request = { id, caller: 'key:k', digest: id, key: undefined, generation: undefined, requestId: 'request-1' };
  const commit = { operation: 'insert_into_table', branch, baseVersion: version, epoch: 0, expected: '{}' };
  const entry = { ...request, ...commit, databaseId: 'database', tableId, path: ['held'] as const, holdsReaders: true };
  await journal.begin([entry], { bounds: [], removes: [], isDurable: true });
  await journal.remove([id]);
}

export async function hasNamespace({ namespaces }: Catalog, databaseId: string, path: NamespacePath): Promise<boolean> {
  return (await namespaces.find(databaseId, path)) !== undefined;
}

/** A commit that has no journal entry. */
export async function recordCommit(
  catalog: Catalog,
  table: TableRecord,
  { properties, ...commit }: CommitEntry & Pick<NewCommit, 'properties'> = ENTRY,
): Promise<RecordedCommit> {
  const [recorded] = await catalog.journal.record([{ table, commit, properties }], true);
  if (recorded === undefined) throw new Error('The commit was not recorded.');
  return recorded;
}

/** For `assert.rejects`: a refusal of this kind, for a reader outside. */
export function refusal(kind: ErrorName, words: RegExp = /./): (error: unknown) => boolean {
  return (error) => error instanceof ServiceError && error.kind === kind && words.test(error.message);
}

/** Another process, which does what `child.ts` calls `command` and says what came of it. */
export function startChild(context: TestContext, command: string, args: readonly string[]): ChildProcess {
  const child = fork(CHILD, [command, ...args], { stdio: 'inherit' });
  context.after(() => child.kill('SIGKILL'));
  return child;
}

export async function nextMessage(child: ChildProcess): Promise<unknown> {
  const stop = new AbortController();
  const { signal } = stop;
  // Not its exit, which may be heard of before its last message.
  const end = once(child, 'disconnect', { signal }).then(() => undefined);
  const message = once(child, 'message', { signal });
  try {
    const first = await Promise.race([message, end]);
    if (first === undefined) throw new Error('The other process ended without a message.');
    return first[0];
  } finally {
    stop.abort();
    await Promise.allSettled([message, end]);
  }
}
