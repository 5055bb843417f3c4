import { sql as statement } from 'kysely';
import type { JournalLimits } from '../../model/limits.ts';
import type { TableRecord } from '../../model/table.ts';
import type { CatalogContext } from '../context.ts';
import type { JournalEntry, NewEntry } from './entries.ts';
import { insertEntries, toEntry } from './entries.ts';
import type { Sql } from '../store.ts';
import { holdVersion, releaseVersion, toProperties } from '../tables/table-rows.ts';
import { recordTransactions } from './transactions.ts';
import type { CommitEntry } from './transactions.ts';

export type { JournalEntry, NewEntry } from './entries.ts';

export interface BeginOptions {
  /** Entries in doubt of the same branch: what is committed from now on is not theirs. */
  readonly bounds: readonly string[];
  /** Entries that were answered or aborted. */
  readonly removes: readonly string[];
  /** Must survive a power loss. */
  readonly isDurable: boolean;
}

/** A commit of the engine, to be recorded. */
export interface NewCommit {
  readonly table: TableRecord;
  readonly commit: CommitEntry;
  /** Added to the table's properties. */
  readonly properties?: Readonly<Record<string, string>> | undefined;
  /** The entry that it ends; a change that is no commit of rows has none. */
  readonly entry?: { readonly id: string; readonly epoch: number; readonly outcome: string } | undefined;
  readonly releasesReaders?: boolean;
}

/** A commit as the catalog has recorded it, with all properties that the table now has. */
export interface RecordedCommit {
  readonly transactionId: string;
  readonly properties: Readonly<Record<string, string>>;
}

/** Which writes were begun, and which of them were committed. One transaction for each call. */
export interface Journal {
  begin(entries: readonly NewEntry[], options: BeginOptions): Promise<void>;
  /** In order. `undefined` for a table that is gone, or an entry that another owner has ended. */
  record(records: readonly NewCommit[], isDurable: boolean): Promise<readonly (RecordedCommit | undefined)[]>;
  /** The entry of a key that is still kept. */
  findByKey(caller: string, key: string): Promise<JournalEntry | undefined>;
  find(id: string): Promise<JournalEntry | undefined>;
  /** In the order in which they began at their tables. */
  pending(): Promise<readonly JournalEntry[]>;
  /** Committed ones without a key. */
  keyless(): Promise<readonly JournalEntry[]>;
  /** The response marks start anew: these entries belong to them from now on. */
  renew(ids: readonly string[], generation: string | undefined): Promise<void>;
  remove(ids: readonly string[]): Promise<void>;
  /** A write of several commits was undone: its entry goes, and readers see the latest version again. */
  abortHeld(id: string, tableId: string): Promise<void>;
  /** Removes what is past its time. */
  prune(): Promise<void>;
}

export function createJournal(context: CatalogContext, limits: JournalLimits): Journal {
  const { read, append, group, now, requireDurable } = context;
  const change = async (run: (sql: Sql) => Promise<void>): Promise<void> =>
    group.run({ run, changesLookups: false, isDurable: false });
  return {
    begin: async (entries, options) =>
      group.run({
        run: async (sql) => beginEntries(sql, entries, { ...options, since: now() }),
        changesLookups: entries.some(({ holdsReaders }) => holdsReaders),
        isDurable: options.isDurable,
      }),
    record: async (records, isDurable) =>
      group.run({
        run: async (sql) => recordAll(sql, records, now()),
        changesLookups: records.some(
          ({ properties, releasesReaders }) => properties !== undefined || releasesReaders === true,
        ),
        isDurable,
      }),
    async findByKey(caller, key) {
      await requireDurable();
      const keptSince = now() - limits.keySeconds * 1000;
      return read(async (sql) => findKeyed(sql, { caller, key, keptSince }));
    },
    async find(id) {
      await requireDurable();
      return read(async (sql) => findEntry(sql, id));
    },
    pending: async () => read(listPending),
    keyless: async () => read(listKeyless),
    renew: async (ids, generation) => append(async (sql) => renewEntries(sql, ids, generation)),
    async remove(ids) {
      if (ids.length > 0) await change(async (sql) => removeEntries(sql, ids));
    },
    abortHeld: async (id, tableId) =>
      group.run({ run: async (sql) => abortHeld(sql, id, tableId), changesLookups: true, isDurable: true }),
    prune: async () => change(async (sql) => pruneKeyed(sql, limits, now())),
  };
}

async function beginEntries(
  sql: Sql,
  entries: readonly NewEntry[],
  { removes, bounds, since }: BeginOptions & { readonly since: number },
): Promise<void> {
  await removeEntries(sql, removes);
  const [first] = entries;
  if (first === undefined) return;
  if (bounds.length > 0) await boundEntries(sql, bounds, first.baseVersion);
  await insertEntries(sql, entries, since);
  for (const { holdsReaders, tableId, baseVersion: version, branch } of entries) {
    if (holdsReaders) await holdVersion(sql, tableId, { version, branch });
  }
}

interface KeyedRequest {
  readonly caller: string;
  readonly key: string;
  readonly keptSince: number;
}

async function findKeyed(sql: Sql, { caller, key, keptSince }: KeyedRequest): Promise<JournalEntry | undefined> {
  const row = await sql
    .selectFrom('journal')
    .selectAll()
    .where('idempotency_key', '=', key)
    .where('caller', '=', caller)
    .where((where) => where.or([where('state', '=', 'pending'), where('since', '>=', keptSince)]))
    .orderBy('since', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row === undefined ? undefined : toEntry(row);
}

async function findEntry(sql: Sql, id: string): Promise<JournalEntry | undefined> {
  const row = await sql.selectFrom('journal').selectAll().where('id', '=', id).executeTakeFirst();
  return row === undefined ? undefined : toEntry(row);
}

async function listPending(sql: Sql): Promise<readonly JournalEntry[]> {
  const pending = sql.selectFrom('journal').selectAll().where('state', '=', 'pending');
  return (await pending.orderBy('base_version').execute()).map(toEntry);
}

async function listKeyless(sql: Sql): Promise<readonly JournalEntry[]> {
  const committed = sql.selectFrom('journal').selectAll().where('state', '=', 'committed');
  return (await committed.where('idempotency_key', 'is', null).orderBy('since').execute()).map(toEntry);
}

async function renewEntries(sql: Sql, ids: readonly string[], generation: string | undefined): Promise<void> {
  await eachPart(ids, async (part) =>
    sql
      .updateTable('journal')
      .set({ generation: generation ?? null })
      .where('id', 'in', part)
      .execute(),
  );
}

/** One whose begin was refused holds nothing; the hold is then another's. */
async function abortHeld(sql: Sql, id: string, tableId: string): Promise<void> {
  const removed = await sql.deleteFrom('journal').where('id', '=', id).executeTakeFirst();
  if (removed.numDeletedRows === 1n) await releaseVersion(sql, tableId);
}

async function recordAll(
  sql: Sql,
  records: readonly NewCommit[],
  committedAt: number,
): Promise<readonly (RecordedCommit | undefined)[]> {
  const rows = await readTables(sql, new Set(records.map(({ table }) => table.id)));
  const properties = new Map(rows.map((row) => [row.id, toProperties(row.properties)]));
  const open: NewCommit[] = [];
  for (const record of records) if (properties.has(record.table.id) && (await isOpen(sql, record))) open.push(record);
  const transactions = open.map(({ table: { id: tableId, databaseId, path }, commit }) => {
    return { ...commit, databaseId, tableId, path, committedAt };
  });
  const ids = await recordTransactions(sql, transactions, rows[0]?.newest ?? undefined);
  const recorded = new Map<NewCommit, RecordedCommit>();
  for (const [index, record] of open.entries()) {
    const transactionId = ids[index] ?? '';
    const merged = { ...properties.get(record.table.id), ...record.properties };
    if (record.properties !== undefined) await keepProperties(sql, record.table.id, merged);
    properties.set(record.table.id, merged);
    if (record.releasesReaders === true) await releaseVersion(sql, record.table.id);
    if (record.entry !== undefined) await endEntry(sql, record, { transactionId, committedAt });
    recorded.set(record, { transactionId, properties: merged });
  }
  return records.map((record) => recorded.get(record));
}

/** One that holds readers may have been undone meanwhile: what is undone must not be recorded. */
async function isOpen(sql: Sql, { entry, releasesReaders }: NewCommit): Promise<boolean> {
  if (entry === undefined || releasesReaders !== true) return true;
  const pending = sql.selectFrom('journal').select('id').where('id', '=', entry.id).where('epoch', '=', entry.epoch);
  return (await pending.executeTakeFirst()) !== undefined;
}

interface Ending {
  readonly transactionId: string;
  readonly committedAt: number;
}

/** Statements of every write are written out: building them each time takes longer than running them. */
async function endEntry(sql: Sql, { entry, commit }: NewCommit, { transactionId, committedAt }: Ending): Promise<void> {
  if (entry === undefined) return;
  const { version } = commit;
  // The window begins with the commit, which may be long after the begin.
  await statement`
    update journal
    set state = 'committed', version = ${version}, transaction_id = ${transactionId}, outcome = ${entry.outcome},
      since = ${committedAt}
    where id = ${entry.id} and epoch = ${entry.epoch}`.execute(sql);
}

interface RecordedTable {
  readonly id: string;
  readonly properties: string;
  /** The id of the newest transaction. */
  readonly newest: string | null;
}

async function readTables(sql: Sql, ids: ReadonlySet<string>): Promise<readonly RecordedTable[]> {
  const found = await statement<RecordedTable>`
    select id, properties, (select max(id) from transactions) as newest from tables
    where id in (${statement.join([...ids])}) and state != 'reserved'`.execute(sql);
  return found.rows;
}

async function keepProperties(sql: Sql, id: string, properties: Readonly<Record<string, string>>): Promise<void> {
  await sql
    .updateTable('tables')
    .set({ properties: JSON.stringify(properties) })
    .where('id', '=', id)
    .execute();
}

async function boundEntries(sql: Sql, ids: readonly string[], version: number): Promise<void> {
  const pending = sql.updateTable('journal').where('state', '=', 'pending').where('id', 'in', ids);
  await pending.where('bound_version', 'is', null).set({ bound_version: version }).execute();
}

async function removeEntries(sql: Sql, ids: readonly string[]): Promise<void> {
  await eachPart(ids, async (part) =>
    statement`delete from journal where id in (${statement.join(part)})`.execute(sql),
  );
}

/** Well below the number of values that a statement takes. */
const PART = 1000;

async function eachPart(ids: readonly string[], work: (part: readonly string[]) => Promise<unknown>): Promise<void> {
  for (let at = 0; at < ids.length; at += PART) await work(ids.slice(at, at + PART));
}

async function pruneKeyed(sql: Sql, { keySeconds, keysMax }: JournalLimits, now: number): Promise<void> {
  const keyed = sql.deleteFrom('journal').where('state', '=', 'committed').where('idempotency_key', 'is not', null);
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
