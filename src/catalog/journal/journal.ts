import type { SelectQueryBuilder } from 'kysely';
import type { JournalLimits } from '../../model/limits.ts';
import { isObjectRoot } from '../../model/table.ts';
import type { TableSummary, VersionMetadata } from '../../model/table.ts';
import type { CatalogContext } from '../context.ts';
import type { CatalogTables, JournalRow } from '../schema/rows.ts';
import { eachPart } from '../store.ts';
import type { Sql } from '../store.ts';
import { advanceHead } from '../nodes/heads.ts';
import { requireLease } from '../nodes/leases.ts';
import { holdVersion, releaseVersion, toProperties } from '../tables/table-rows.ts';
import { deleteVersionMetadata, insertVersionMetadata } from '../tables/version-metadata.ts';
import type { RemovedVersions } from '../tables/version-metadata.ts';
import { insertPending, toEntry } from './entries.ts';
import type { JournalEntry, NewEntry } from './entries.ts';
import { runHot } from './hot-statements.ts';
import { recordTransactions } from './transactions.ts';
import type { CommitEntry, Recorded } from './transactions.ts';

/** Bounds entries in doubt of one branch: commits after this version do not belong to them. */
interface Bound {
  readonly ids: readonly string[];
  readonly version: number;
}

export interface BeginOptions {
  readonly bounds: readonly Bound[];
  /** Entries that were answered or aborted. */
  readonly removes: readonly string[];
  readonly isDurable: boolean;
}

export interface NewCommit {
  readonly table: TableSummary;
  readonly commit: CommitEntry;
  /** Added to the table's properties. */
  readonly properties?: Readonly<Record<string, string>> | undefined;
  /** Metadata of the version that the commit created. */
  readonly versionMetadata?: VersionMetadata | undefined;
  /** Versions of the branch that this change removed. */
  readonly removedVersions?: RemovedVersions | undefined;
  /** The entry that becomes committed; absent for a change that commits no rows. */
  readonly entry?: { readonly id: string; readonly outcome: string } | undefined;
  /** The epoch of the owner that records it; absent for a change without an entry. */
  readonly epoch?: number | undefined;
  readonly releasesReaders?: boolean;
}

/** A recorded commit, with all current properties of the table. */
export interface RecordedCommit extends Recorded {
  readonly properties: Readonly<Record<string, string>>;
}

type EntryQuery = SelectQueryBuilder<CatalogTables, 'journal', JournalRow>;

export type Journal = ReturnType<typeof createJournal>;

/** Records which writes have begun, and which are committed. Each call is one transaction. */
export function createJournal(context: CatalogContext, limits: JournalLimits) {
  const { read, append, group, now, nodeId } = context;
  const change = async (run: (sql: Sql) => Promise<void>): Promise<void> =>
    group.run({ run, changesLookups: false, isDurable: false });
  return {
    ...createEntryLookups(context, limits),

    async begin(entries: readonly NewEntry[], options: BeginOptions): Promise<void> {
      const { bounds, removes, isDurable } = options;
      const changesLookups = entries.some(({ holdsReaders }) => holdsReaders);
      const insertsOnly = removes.length === 0 && !changesLookups && bounds.every(({ ids }) => ids.length === 0);
      await group.run({
        run: async (sql) => {
          await requireLeases(sql, entries, nodeId);
          await insertEntries(sql, entries, { ...options, since: now() });
        },
        changesLookups,
        isDurable,
        isOneStatement: insertsOnly && nodeId === undefined,
      });
    },

    /**
     * Returns results in order; `undefined` if the table is gone or the entry was ended. Throws `NotOwner` after a
     * takeover.
     */
    async record(commits: readonly NewCommit[], isDurable: boolean): Promise<readonly (RecordedCommit | undefined)[]> {
      return group.run({
        run: async (sql) => recordAll(sql, commits, { committedAt: now(), nodeId }),
        changesLookups: commits.some(
          ({ properties, releasesReaders }) => properties !== undefined || releasesReaders === true,
        ),
        isDurable,
      });
    },

    /** Throws `NotOwner` if another node has taken the table over, and refuses if the table is gone. */
    async requireOwner(tableId: string, epoch: number): Promise<void> {
      if (nodeId !== undefined) await read(async (sql) => requireLease(sql, tableId, nodeId, epoch));
    },

    /** Assigns these entries to a new generation of response marks. */
    async renew(ids: readonly string[], generation: string | undefined): Promise<void> {
      const values = { generation: generation ?? null };
      await append(async (sql) =>
        eachPart(ids, async (part) => sql.updateTable('journal').set(values).where('id', 'in', part).execute()),
      );
    },

    async remove(ids: readonly string[]): Promise<void> {
      if (ids.length > 0) await change(async (sql) => removeEntries(sql, ids));
    },

    /**
     * Call after a write of several commits was undone: removes its entry and releases readers to the latest version. A
     * commit made on top of the write, such as an index, may have become the head meanwhile, but was undone too.
     */
    async abortHeld(id: string, tableId: string, head: number | undefined): Promise<void> {
      const run = async (sql: Sql): Promise<void> => {
        const entry = sql.deleteFrom('journal').where('id', '=', id).where('state', '=', 'pending');
        const removed = await entry.executeTakeFirst();
        // An entry whose begin was refused holds no readers; the hold then belongs to another entry.
        if (removed.numDeletedRows !== 1n) return;
        await releaseVersion(sql, tableId);
        if (head !== undefined) await advanceHead(sql, tableId, head);
      };
      await group.run({ run, changesLookups: true, isDurable: true });
    },

    /** Removes expired keys, and the oldest ones beyond the bound. */
    async prune(): Promise<void> {
      await change(async (sql) => {
        await pruneKeyed(sql, limits, now());
        if (nodeId !== undefined) await pruneKeyless(sql, limits, now());
      });
    },
  };
}

function createEntryLookups({ read, group, now, requireDurable }: CatalogContext, limits: JournalLimits) {
  const list = async (narrow: (entries: EntryQuery) => EntryQuery): Promise<readonly JournalEntry[]> => {
    const rows = await read(async (sql) => narrow(sql.selectFrom('journal').selectAll()).execute());
    return rows.map(toEntry);
  };
  return {
    /** The entry of a key that has not expired. */
    async findByKey(caller: string, key: string): Promise<JournalEntry | undefined> {
      await requireDurable();
      const keptSince = now() - limits.keySeconds * 1000;
      const [newest] = await list((entries) =>
        entries
          .where('idempotencyKey', '=', key)
          .where('caller', '=', caller)
          .where((where) => where.or([where('state', '=', 'pending'), where('since', '>=', keptSince)]))
          .orderBy('since', 'desc')
          .limit(1),
      );
      return newest;
    },

    /**
     * Runs in a transaction, which waits for earlier ones: PostgreSQL may still commit one whose reply we stopped
     * waiting for.
     */
    async find(id: string): Promise<JournalEntry | undefined> {
      const run = async (sql: Sql) => sql.selectFrom('journal').selectAll().where('id', '=', id).executeTakeFirst();
      const row = await group.run({ run, changesLookups: false, isDurable: false });
      return row && toEntry(row);
    },

    /** In the order in which they began on each table; of all tables or of one. */
    async pending(tableId?: string): Promise<readonly JournalEntry[]> {
      return list((entries) =>
        entries
          .where('state', '=', 'pending')
          .$if(tableId !== undefined, (pending) => pending.where('tableId', '=', tableId ?? ''))
          .orderBy('baseVersion')
          .orderBy('id'),
      );
    },

    async keyless(): Promise<readonly JournalEntry[]> {
      return list((entries) =>
        entries.where('state', '=', 'committed').where('idempotencyKey', 'is', null).orderBy('since'),
      );
    },
  };
}

/** The entries of a batch belong to several tables. */
async function requireLeases(sql: Sql, entries: readonly NewEntry[], nodeId: string | undefined): Promise<void> {
  const epochs = new Map(entries.map(({ tableId, epoch }) => [tableId, epoch]));
  for (const [tableId, epoch] of epochs) await requireLease(sql, tableId, nodeId, epoch);
}

async function insertEntries(
  sql: Sql,
  entries: readonly NewEntry[],
  { removes, bounds, since }: BeginOptions & { readonly since: number },
): Promise<void> {
  await removeEntries(sql, removes);
  if (entries.length === 0) return;
  for (const { ids, version } of bounds) if (ids.length > 0) await boundEntries(sql, ids, version);
  await insertPending(sql, entries, since);
  for (const { holdsReaders, tableId, baseVersion: version, branch } of entries) {
    if (holdsReaders) await holdVersion(sql, tableId, { version, branch });
  }
}

export async function recordAll(
  sql: Sql,
  commits: readonly NewCommit[],
  { committedAt, nodeId }: { readonly committedAt: number; readonly nodeId: string | undefined },
): Promise<readonly (RecordedCommit | undefined)[]> {
  if (commits.length === 0) return [];
  const rows = await readTables(sql, [...new Set(commits.map(({ table }) => table.id))]);
  const properties = new Map(rows.map((row) => [row.id, toProperties(row.properties)]));
  const open: NewCommit[] = [];
  for (const commit of commits) {
    if (!properties.has(commit.table.id)) continue;
    if (nodeId !== undefined) await requireLease(sql, commit.table.id, nodeId, commit.epoch);
    if (await isStillPending(sql, commit)) open.push(commit);
  }
  const transactions = open.map(({ table: { id: tableId, databaseId, path }, commit }) => {
    return { ...commit, databaseId, tableId, path, committedAt };
  });
  const ids = await recordTransactions(sql, transactions, rows[0]?.newest ?? undefined);
  const recorded = new Map<NewCommit, RecordedCommit>();
  for (const [index, commit] of open.entries()) {
    const { id: tableId } = commit.table;
    const transactionId = ids[index] ?? '';
    const merged = { ...properties.get(tableId), ...commit.properties };
    properties.set(tableId, merged);
    if (commit.properties !== undefined) {
      const columns = { properties: JSON.stringify(merged) };
      await sql.updateTable('tables').set(columns).where('id', '=', tableId).execute();
    }
    if (commit.releasesReaders === true) await releaseVersion(sql, tableId);
    await changeVersionMetadata(sql, commit);
    await commitEntry(sql, commit, { transactionId, committedAt });
    const { location } = commit.table;
    const { version, branch } = commit.commit;
    if (branch === undefined && isObjectRoot(location.root)) await advanceHead(sql, tableId, version);
    recorded.set(commit, { transactionId, properties: merged });
  }
  return commits.map((commit) => recorded.get(commit));
}

async function changeVersionMetadata(sql: Sql, commit: NewCommit): Promise<void> {
  const { versionMetadata, removedVersions: versions = [] } = commit;
  const { version, branch } = commit.commit;
  const tableId = commit.table.id;
  if (versionMetadata !== undefined) await insertVersionMetadata(sql, { tableId, branch, version }, versionMetadata);
  if (versions.length > 0) await deleteVersionMetadata(sql, { tableId, branch, versions });
}

async function readTables(sql: Sql, ids: readonly string[]) {
  return runHot(sql, {
    key: `select tables, ${ids.length} ids`,
    compile: () =>
      sql
        .selectFrom('tables')
        .select(['id', 'properties'])
        .select((tables) =>
          tables
            .selectFrom('transactions')
            .select(({ fn }) => fn.max('id').as('id'))
            .as('newest'),
        )
        .where('id', 'in', ids)
        .where('state', '!=', 'reserved')
        .compile(),
    values: [...ids, 'reserved'],
    isOneRow: ids.length === 1,
  });
}

/** A write that holds readers may have been undone meanwhile, and must not be recorded then. */
async function isStillPending(sql: Sql, { entry, releasesReaders }: NewCommit): Promise<boolean> {
  if (entry === undefined || releasesReaders !== true) return true;
  const pending = sql.selectFrom('journal').select('id').where('id', '=', entry.id).where('state', '=', 'pending');
  return (await pending.executeTakeFirst()) !== undefined;
}

/** The replay window begins at the commit, which may be long after the begin. */
async function commitEntry(
  sql: Sql,
  { entry, commit: { version } }: NewCommit,
  { transactionId, committedAt }: Recorded & { readonly committedAt: number },
): Promise<void> {
  if (entry === undefined) return;
  await runHot(sql, {
    key: 'commit journal entry',
    compile: () =>
      sql
        .updateTable('journal')
        .set({ version, transactionId, outcome: entry.outcome, since: committedAt, state: 'committed' })
        .where('id', '=', entry.id)
        .compile(),
    values: [version, transactionId, entry.outcome, committedAt, 'committed', entry.id],
  });
}

async function boundEntries(sql: Sql, ids: readonly string[], version: number): Promise<void> {
  const pending = sql.updateTable('journal').where('state', '=', 'pending').where('id', 'in', ids);
  await pending.where('boundVersion', 'is', null).set({ boundVersion: version }).execute();
}

async function removeEntries(sql: Sql, ids: readonly string[]): Promise<void> {
  await eachPart(ids, async (part) =>
    runHot(sql, {
      key: `delete from journal, ${part.length} ids`,
      compile: () => sql.deleteFrom('journal').where('id', 'in', part).compile(),
      values: part,
    }),
  );
}

async function pruneKeyed(sql: Sql, { keySeconds, keysMax }: JournalLimits, now: number): Promise<void> {
  const keyed = sql.deleteFrom('journal').where('state', '=', 'committed').where('idempotencyKey', 'is not', null);
  await keyed.where('since', '<', now - keySeconds * 1000).execute();
  const oldest = await sql
    .selectFrom('journal')
    .select('since')
    .where('idempotencyKey', 'is not', null)
    .orderBy('since', 'desc')
    .offset(keysMax)
    .limit(1)
    .executeTakeFirst();
  if (oldest !== undefined) await keyed.where('since', '<=', oldest.since).execute();
}

/** In a cluster these are never replayed; other nodes remove those of an ended node. */
async function pruneKeyless(sql: Sql, { windowSeconds }: JournalLimits, now: number): Promise<void> {
  const keyless = sql.deleteFrom('journal').where('state', '=', 'committed').where('idempotencyKey', 'is', null);
  await keyless.where('since', '<', now - windowSeconds * 1000).execute();
}
