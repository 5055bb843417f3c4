import { ServiceError } from '../../errors/service-error.ts';
import type { TableRecord } from '../../model/table.ts';
import type { CatalogContext } from '../context.ts';
import { insertCompleted } from '../journal/entries.ts';
import type { CompletedRequest } from '../journal/entries.ts';
import { recordAll } from '../journal/journal.ts';
import type { NewCommit, RecordedCommit } from '../journal/journal.ts';
import { createId } from '../ids.ts';
import { recordTransaction } from '../journal/transactions.ts';
import type { CommitEntry } from '../journal/transactions.ts';
import type { VersionRemovalRow } from '../schema/rows.ts';
import type { Sql } from '../store.ts';
import { insertDeclaration } from './declarations.ts';
import type { NewDeclaration, RecordedTable } from './declarations.ts';
import { releaseRow, requireRow } from './lifecycle.ts';

/** Changes of several tables that become visible together. */
export interface BatchChanges {
  readonly databaseId: string;
  readonly declarations: readonly NewDeclaration[];
  readonly deregistrations: readonly TableRecord[];
}

/** Versions that cease to exist when the batch is recorded. Their manifests are removed afterwards. */
interface VersionDeletion {
  readonly table: TableRecord;
  /** The main branch if absent. */
  readonly branch: string | undefined;
  readonly versions: readonly number[];
  readonly latest: number;
  /** The epoch of the table's owner. */
  readonly epoch: number;
}

/** A committed deletion whose manifests may still exist. */
export interface VersionRemoval extends Pick<VersionDeletion, 'branch' | 'versions'> {
  readonly id: string;
  readonly tableId: string;
}

export interface NewBatch extends BatchChanges {
  readonly deletions: readonly VersionDeletion[];
  /** Commits of versions, whose entries are pending and hold readers. */
  readonly commits: readonly NewCommit[];
  /** How the changes describe themselves, without an operation. */
  readonly entry: Omit<CommitEntry, 'operation' | 'version'>;
  /** Creates the entry of the request once the ids of its transactions are known. */
  readonly complete: (recorded: RecordedBatch) => CompletedRequest;
}

/** Each list is in the order of the batch. */
export interface RecordedBatch {
  readonly commits: readonly RecordedCommit[];
  readonly declared: readonly RecordedTable[];
  /** Transaction ids. */
  readonly deregistered: readonly string[];
  readonly deleted: readonly { readonly transactionId: string; readonly count: number }[];
}

export function createBatchStore(context: CatalogContext) {
  const { read, write, append, now, nodeId } = context;
  return {
    /** Of all tables, or of the given ones. */
    async listRemovals(tableIds?: readonly string[]): Promise<readonly VersionRemoval[]> {
      if (tableIds?.length === 0) return [];
      const rows = await read(async (sql) =>
        sql
          .selectFrom('versionRemovals')
          .selectAll()
          .$if(tableIds !== undefined, (removals) => removals.where('tableId', 'in', tableIds ?? []))
          .orderBy('id')
          .execute(),
      );
      return rows.map(toRemoval);
    },

    /** Call after the manifests are gone. Idempotent. */
    async finishRemoval(id: string): Promise<void> {
      await append(async (sql) => sql.deleteFrom('versionRemovals').where('id', '=', id).execute());
    },

    /** One transaction, all or nothing. Throws `NotOwner` if one of the tables was taken over. */
    async record(batch: NewBatch): Promise<RecordedBatch> {
      return write(async (sql) => {
        const committedAt = now();
        const commits = requireAll(await recordAll(sql, batch.commits, { committedAt, nodeId }));
        const declared: RecordedTable[] = [];
        for (const declaration of batch.declarations) {
          const entry = { ...batch.entry, operation: 'declare_table', version: 0 };
          declared.push(await insertDeclaration(sql, declaration, entry, context));
        }
        const deregistered: string[] = [];
        for (const table of batch.deregistrations) {
          deregistered.push(await deregister(sql, table, batch.entry, committedAt));
        }
        const deleted = await recordDeletions(sql, batch, { committedAt, nodeId });
        const recorded = { commits, declared, deregistered, deleted };
        await complete(sql, batch, recorded, committedAt);
        return recorded;
      });
    },
  };
}

function requireAll(recorded: readonly (RecordedCommit | undefined)[]): readonly RecordedCommit[] {
  return recorded.map((commit) => {
    if (commit !== undefined) return commit;
    throw new ServiceError('TableNotFound', 'A table of the batch no longer exists.');
  });
}

async function deregister(sql: Sql, table: TableRecord, entry: NewBatch['entry'], at: number): Promise<string> {
  const { id: tableId, databaseId, path } = table;
  await releaseRow(sql, await requireRow(sql, table), at);
  const change = { ...entry, operation: 'deregister_table', version: 0, databaseId, tableId, path, committedAt: at };
  return (await recordTransaction(sql, change)).transactionId;
}

async function recordDeletions(
  sql: Sql,
  { deletions, entry }: NewBatch,
  { committedAt, nodeId }: { readonly committedAt: number; readonly nodeId: string | undefined },
): Promise<RecordedBatch['deleted']> {
  const commits = deletions.map(({ table, branch, latest: version, versions: removedVersions, epoch }): NewCommit => {
    const commit = { ...entry, operation: 'batch_delete_table_versions', version, branch };
    return { table, commit, removedVersions, epoch };
  });
  const recorded = requireAll(await recordAll(sql, commits, { committedAt, nodeId }));
  for (const { table, branch = null, versions } of deletions) {
    if (versions.length === 0) continue;
    const row = { id: createId(committedAt), tableId: table.id, branch, versions: JSON.stringify(versions) };
    await sql.insertInto('versionRemovals').values(row).execute();
  }
  return recorded.map(({ transactionId }, index) => {
    return { transactionId, count: deletions[index]?.versions.length ?? 0 };
  });
}

function toRemoval({ id, tableId, branch, versions: text }: VersionRemovalRow): VersionRemoval {
  // Only `recordDeletions` writes it.
  const versions: readonly number[] = JSON.parse(text);
  return { id, tableId, branch: branch ?? undefined, versions };
}

/** Completes the request with the first of its transactions. */
async function complete(sql: Sql, batch: NewBatch, recorded: RecordedBatch, committedAt: number): Promise<void> {
  const { databaseId, entry } = batch;
  const first = firstOf(batch, recorded);
  const completed = batch.complete(recorded);
  await insertCompleted(sql, {
    ...entry,
    ...completed,
    ...first,
    databaseId,
    operation: 'batch',
    version: 0,
    committedAt,
  });
}

function firstOf(batch: NewBatch, { commits, declared, deregistered, deleted }: RecordedBatch) {
  const [commit, declaration, deletion] = [commits[0], declared[0], deleted[0]];
  const changed = batch.commits[0]?.table ?? declaration?.table ?? batch.deregistrations[0];
  const table = changed ?? batch.deletions[0]?.table;
  if (table === undefined) throw new Error('A batch has at least one change.');
  const named = commit ?? declaration ?? (deregistered[0] === undefined ? deletion : undefined);
  const transactionId = named?.transactionId ?? deregistered[0] ?? '';
  return { tableId: table.id, path: table.path, transactionId };
}
