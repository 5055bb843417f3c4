import { ServiceError } from '../../errors/service-error.ts';
import type { TableRecord } from '../../model/table.ts';
import type { CatalogContext } from '../context.ts';
import { insertCompleted } from '../journal/entries.ts';
import type { CompletedRequest } from '../journal/entries.ts';
import { recordAll } from '../journal/journal.ts';
import type { NewCommit, RecordedCommit } from '../journal/journal.ts';
import { recordTransaction } from '../journal/transactions.ts';
import type { CommitEntry } from '../journal/transactions.ts';
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

export interface NewBatch extends BatchChanges {
  /** Of versions, whose entries are pending and hold readers. */
  readonly commits: readonly NewCommit[];
  /** What the changes say of themselves, without an operation. */
  readonly entry: Omit<CommitEntry, 'operation' | 'version'>;
  /** The entry of the request, once the ids of its transactions are known. */
  readonly complete: (recorded: RecordedBatch) => CompletedRequest;
}

/** In the order in which the batch has them. */
export interface RecordedBatch {
  readonly commits: readonly RecordedCommit[];
  readonly declared: readonly RecordedTable[];
  /** Ids of transactions. */
  readonly deregistered: readonly string[];
}

export function createBatchStore(context: CatalogContext) {
  const { write, now, nodeId } = context;
  return {
    /** One transaction: all of it, or nothing. Throws `NotOwner` after a takeover of one of the tables. */
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
        const recorded = { commits, declared, deregistered };
        await complete(sql, batch, recorded, committedAt);
        return recorded;
      });
    },
  };
}

function requireAll(recorded: readonly (RecordedCommit | undefined)[]): readonly RecordedCommit[] {
  return recorded.map((commit) => {
    if (commit !== undefined) return commit;
    throw new ServiceError('TableNotFound', 'A table of the batch does not exist any more.');
  });
}

async function deregister(sql: Sql, table: TableRecord, entry: NewBatch['entry'], at: number): Promise<string> {
  const { id: tableId, databaseId, path } = table;
  await releaseRow(sql, await requireRow(sql, table), at);
  const change = { ...entry, operation: 'deregister_table', version: 0, databaseId, tableId, path, committedAt: at };
  return (await recordTransaction(sql, change)).transactionId;
}

/** The request is completed with the first of its transactions. */
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

function firstOf(batch: NewBatch, { commits, declared, deregistered }: RecordedBatch) {
  const [commit, declaration] = [commits[0], declared[0]];
  const table = batch.commits[0]?.table ?? declaration?.table ?? batch.deregistrations[0];
  if (table === undefined) throw new Error('A batch has at least one change.');
  const transactionId = commit?.transactionId ?? declaration?.transactionId ?? deregistered[0] ?? '';
  return { tableId: table.id, path: table.path, transactionId };
}
