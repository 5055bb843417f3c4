import type { TablePath } from '../model/identifier.ts';
import type { JournalLimits } from '../model/limits.ts';
import { MAIN_BRANCH } from '../model/table.ts';
import type { PriorAnswer } from '../model/write-intent.ts';
import { recordInJournal } from './journal-commit.ts';
import { toPathText, toTablePath } from './path-text.ts';
import type { JournalRow } from './rows.ts';
import type { Sql } from './store.ts';
import { recordTransaction } from './transactions.ts';

/** What tells a request that is sent again from another one. */
export interface RequestMark {
  readonly caller: string;
  /** Of caller, operation, address and body. */
  readonly digest: string;
  /** The header Idempotency-Key. */
  readonly key: string | undefined;
}

/** A write that is about to be made. */
export interface BegunWrite extends RequestMark {
  readonly id: string;
  readonly operation: string;
  readonly databaseId: string;
  readonly tableId: string;
  readonly path: TablePath;
  /** The main one when absent. */
  readonly branch: string | undefined;
  /** The latest version when the write had its turn; 0 when there was none. */
  readonly versionBefore: number;
  readonly requestId: string;
}

export interface UnresolvedWrite extends BegunWrite {
  readonly since: number;
  /** What was committed after this version is another's. */
  readonly boundVersion: number | undefined;
}

/** Where a write has its turn: a branch of a table. */
export function turnPlace({ tableId, branch }: Pick<BegunWrite, 'tableId' | 'branch'>): string {
  return `${tableId} ${branch ?? MAIN_BRANCH}`;
}

export interface LandedWrite {
  readonly write: UnresolvedWrite;
  readonly version: number;
}

export async function noteWrite(sql: Sql, write: BegunWrite, since: number): Promise<void> {
  await sql
    .insertInto('journal')
    .values({
      id: write.id,
      caller: write.caller,
      digest: write.digest,
      idempotency_key: write.key ?? null,
      operation: write.operation,
      database_id: write.databaseId,
      table_id: write.tableId,
      table_path: toPathText(write.path),
      branch: write.branch ?? null,
      base_version: write.versionBefore,
      bound_version: null,
      request_id: write.requestId,
      state: 'begun',
      since,
      version: null,
      transaction_id: null,
      outcome: null,
    })
    .execute();
}

/** In the order in which they had their turns at their tables. */
export async function readUnresolved(sql: Sql): Promise<readonly UnresolvedWrite[]> {
  const rows = await sql
    .selectFrom('journal')
    .selectAll()
    .where('state', '=', 'begun')
    .orderBy('base_version')
    .execute();
  return rows.map(toUnresolved);
}

/** Another write has its turn at their table: what it and its like commit is not theirs. */
export async function boundWrites(sql: Sql, ids: readonly string[], version: number): Promise<void> {
  const begun = sql.updateTable('journal').where('state', '=', 'begun').where('id', 'in', ids);
  await begun.where('bound_version', 'is', null).set({ bound_version: version }).execute();
}

interface Landed {
  readonly version: number;
  readonly committedAt: number;
}

/** A crash came between the commit and its record. */
export async function landWrite(sql: Sql, write: UnresolvedWrite, { version, committedAt }: Landed): Promise<string> {
  const { databaseId, tableId, path, operation, caller, requestId, branch } = write;
  const entry = { operation, caller, requestId, version, ...(branch === undefined ? {} : { branch }) };
  const transactionId = await recordTransaction(sql, { ...entry, databaseId, tableId, path, committedAt });
  await recordInJournal(sql, { id: write.id, outcome: {} }, { version, transactionId, committedAt });
  return transactionId;
}

/** What is past its time. Notes that are not resolved stay, and so do those of the last moment. */
export async function pruneJournal(sql: Sql, limits: JournalLimits, now: number): Promise<void> {
  const { windowSeconds, keySeconds, keysMax } = limits;
  const committed = sql.deleteFrom('journal').where('state', '=', 'committed');
  const plain = committed.where('idempotency_key', 'is', null);
  await plain.where('since', '<', now - windowSeconds * 1000).execute();
  const keyed = committed.where('idempotency_key', 'is not', null);
  await keyed.where('since', '<', now - keySeconds * 1000).execute();
  const oldest = await sql
    .selectFrom('journal')
    .select('since')
    .where('idempotency_key', 'is not', null)
    .orderBy('since', 'desc')
    .offset(keysMax)
    .limit(1)
    .executeTakeFirst();
  if (oldest !== undefined) await keyed.where('since', '<=', oldest.since).execute();
}

export function toPriorAnswer(row: JournalRow): PriorAnswer {
  return {
    journalId: row.id,
    version: row.version ?? 0,
    transactionId: row.transaction_id ?? undefined,
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Only `recordInJournal` writes it.
    outcome: JSON.parse(row.outcome ?? '{}') as PriorAnswer['outcome'],
  };
}

function toUnresolved(row: JournalRow): UnresolvedWrite {
  return {
    id: row.id,
    caller: row.caller,
    digest: row.digest,
    key: row.idempotency_key ?? undefined,
    operation: row.operation,
    databaseId: row.database_id,
    tableId: row.table_id,
    path: toTablePath(row.table_path),
    branch: row.branch ?? undefined,
    versionBefore: row.base_version,
    boundVersion: row.bound_version ?? undefined,
    requestId: row.request_id,
    since: row.since,
  };
}
