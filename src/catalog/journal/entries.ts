import type { NamespacePath, TablePath } from '../../model/identifier.ts';
import { toPathText, toTablePath } from '../path-text.ts';
import type { JournalRow } from '../schema/rows.ts';
import type { Sql } from '../store.ts';
import { runHot } from './hot-statements.ts';

/** A write about to be committed: its entry is pending until it is recorded or removed. */
export interface NewEntry {
  readonly id: string;
  readonly caller: string;
  /** Covers caller, operation, address and body: equal only for a repeated request. */
  readonly digest: string;
  /** The Idempotency-Key header. */
  readonly key: string | undefined;
  readonly operation: string;
  readonly databaseId: string;
  readonly tableId: string;
  readonly path: TablePath;
  /** The main branch if absent. */
  readonly branch: string | undefined;
  /** The version that the write follows; 0 if it creates the table. */
  readonly baseVersion: number;
  /** The epoch of the table's owner when the write began. */
  readonly epoch: number;
  readonly requestId: string;
  /** The generation of response marks, for a write without a key. */
  readonly generation: string | undefined;
  /** How to recognize the commit and rebuild its outcome, in a format of the writer. */
  readonly expected: string;
  /** Readers see the base version until the write is recorded, because it takes several commits. */
  readonly holdsReaders: boolean;
}

export interface JournalEntry extends Omit<NewEntry, 'holdsReaders'> {
  readonly state: 'pending' | 'committed';
  /** Commits after this version do not belong to this write. */
  readonly boundVersion: number | undefined;
  /** When the write began; once committed, when it was committed. */
  readonly since: number;
  readonly version: number | undefined;
  readonly transactionId: string | undefined;
  /** The fields of the reply, as JSON. */
  readonly outcome: string | undefined;
}

/** A request that is one catalog transaction, which also writes its entry: never pending. */
export interface CompletedRequest extends Pick<NewEntry, 'id' | 'key' | 'digest' | 'generation'> {
  /** The fields of the reply, as JSON. */
  readonly outcome: string;
}

export interface Completion
  extends CompletedRequest, Pick<NewEntry, 'caller' | 'operation' | 'requestId' | 'databaseId' | 'tableId'> {
  readonly path: NamespacePath;
  readonly version: number;
  readonly transactionId: string;
  readonly committedAt: number;
}

export async function insertPending(sql: Sql, entries: readonly NewEntry[], since: number): Promise<void> {
  const rows = entries.map((entry): JournalRow => {
    const { branch = null, baseVersion, epoch, expected } = entry;
    const ending = { since, version: null, transactionId: null, outcome: null };
    return { ...toColumns(entry), branch, baseVersion, epoch, expected, state: 'pending', ...ending };
  });
  await runHot(sql, {
    key: `insert into journal, ${rows.length} rows`,
    compile: () => sql.insertInto('journal').values(rows).compile(),
    values: rows.flatMap((row) => Object.values(row)),
  });
}

export async function insertCompleted(sql: Sql, completion: Completion): Promise<void> {
  const { version, transactionId, outcome, committedAt: since } = completion;
  const beginning = { ...toColumns(completion), branch: null, baseVersion: 0, epoch: 0, expected: null };
  const row: JournalRow = { ...beginning, state: 'committed', since, version, transactionId, outcome };
  await sql.insertInto('journal').values(row).execute();
}

type Common = Omit<Completion, 'outcome' | 'version' | 'transactionId' | 'committedAt'>;

function toColumns(entry: Common) {
  const { id, caller, digest, key = null, operation, databaseId, tableId, generation = null, requestId } = entry;
  const request = { id, caller, digest, idempotencyKey: key, operation, generation, requestId };
  return { ...request, databaseId, tableId, tablePath: toPathText(entry.path), boundVersion: null };
}

export function toEntry({ idempotencyKey, tablePath, ...row }: JournalRow): JournalEntry {
  return {
    ...row,
    key: idempotencyKey ?? undefined,
    path: toTablePath(tablePath),
    branch: row.branch ?? undefined,
    boundVersion: row.boundVersion ?? undefined,
    generation: row.generation ?? undefined,
    expected: row.expected ?? '{}',
    version: row.version ?? undefined,
    transactionId: row.transactionId ?? undefined,
    outcome: row.outcome ?? undefined,
  };
}
