import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { openCatalog } from '../../src/catalog/catalog.ts';
import type { Catalog, CommitEntry, NewCommit, RecordedCommit } from '../../src/catalog/catalog.ts';
import { ServiceError } from '../../src/errors/service-error.ts';
import type { ErrorName } from '../../src/errors/service-error.ts';
import type { Database, TableRecord } from '../../src/model/table.ts';
import type { TablePath } from '../../src/model/identifier.ts';

export const CHILD = fileURLToPath(new URL('./child.js', import.meta.url));
export const NOW = 1_700_000_000_000;
export const ENTRY: CommitEntry = { operation: 'create_table', caller: 'key:k', version: 1, requestId: 'request-1' };

export async function temporaryFile(context: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'catalog-'));
  context.after(async () => rm(folder, { recursive: true, force: true }));
  return join(folder, 'catalog.db');
}

export async function open(context: TestContext, file: string, busyTimeoutMilliseconds = 30_000): Promise<Catalog> {
  const catalog = await openCatalog({
    file,
    storageRoot: '/roots',
    busyTimeoutMilliseconds,
    journal: { windowSeconds: 60, keySeconds: 86_400, keysMax: 1000 },
    cacheEntriesMax: 100,
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
