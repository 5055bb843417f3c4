import { ServiceError } from '../../errors/service-error.ts';
import { formatPath, namespaceOf, quoteForMessage } from '../../model/identifier.ts';
import type { TablePath } from '../../model/identifier.ts';
import type { TableRecord } from '../../model/table.ts';
import type { CatalogContext } from '../context.ts';
import { createDeclarationStore, releaseRow } from './declarations.ts';
import type { DeclarationStore } from './declarations.ts';
import { requireNamespaceId } from '../namespaces/namespace-rows.ts';
import { toPathText } from '../path-text.ts';
import {
  createRemovalStore,
  removeRow,
  createRenameStore,
  forgetRename,
  recordRename,
} from './removals-and-renames.ts';
import type { Removal, RemovalStore, RenameStore } from './removals-and-renames.ts';
import type { TableRow } from '../schema/rows.ts';
import type { Sql } from '../store.ts';
import { recordTransaction } from '../journal/transactions.ts';
import type { CommitEntry } from '../journal/transactions.ts';

export interface Recorded {
  readonly transactionId: string;
}

/** How tables come, change their names and go, their data left aside. */
export interface LifecycleStore extends DeclarationStore, RemovalStore, RenameStore {
  /** From now on nobody finds the table. Its data are to be removed next. */
  drop(table: TableRecord, entry: CommitEntry): Promise<Recorded & { readonly removal: Removal }>;
  /** As `drop`, but the data stay, as their owner's: they are not swept, and not adopted. */
  deregister(table: TableRecord, entry: CommitEntry): Promise<Recorded>;
  /** Of several that rename or drop a table, or that want the new name, exactly one succeeds. */
  rename(table: TableRecord, path: TablePath, entry: CommitEntry): Promise<Recorded>;
}

export function createLifecycleStore(context: CatalogContext): LifecycleStore {
  const { write, roots, now } = context;
  return {
    ...createDeclarationStore(context),
    ...createRemovalStore(context),
    ...createRenameStore(context),

    async drop(table, entry) {
      return write(async (sql) => {
        const row = await requireRow(sql, table);
        const removal = await removeRow(sql, row, { roots, removedAt: now() });
        return { removal, ...(await record(sql, { table, entry, committedAt: now() })) };
      });
    },

    async deregister(table, entry) {
      return write(async (sql) => {
        await releaseRow(sql, await requireRow(sql, table), now());
        return record(sql, { table, entry, committedAt: now() });
      });
    },

    async rename(table, path, entry) {
      return write(async (sql) => {
        await moveRow(sql, { table, path, movedAt: now() });
        return record(sql, { table: { ...table, path }, entry, committedAt: now() });
      });
    },
  };
}

/** The row as it is now; gone when the table has another name by now. */
async function requireRow(sql: Sql, table: TableRecord): Promise<TableRow> {
  const row = await sql
    .selectFrom('tables')
    .selectAll()
    .where('id', '=', table.id)
    .where('path', '=', toPathText(table.path))
    .executeTakeFirst();
  if (row !== undefined) return row;
  throw new ServiceError(
    'TableNotFound',
    `The table ${quoteForMessage(formatPath(table.path))} does not exist any more.`,
  );
}

interface Move {
  readonly table: TableRecord;
  readonly path: TablePath;
  readonly movedAt: number;
}

async function moveRow(sql: Sql, { table, path, movedAt }: Move): Promise<void> {
  const { id: tableId, database_id: databaseId } = await requireRow(sql, table);
  const namespaceId = await requireNamespaceId(sql, databaseId, namespaceOf(path));
  const pathText = toPathText(path);
  const taken = await sql
    .selectFrom('tables')
    .select('id')
    .where('database_id', '=', databaseId)
    .where('path', '=', pathText)
    .executeTakeFirst();
  if (taken !== undefined) {
    throw new ServiceError('TableAlreadyExists', `The table ${quoteForMessage(formatPath(path))} already exists.`);
  }
  await sql
    .updateTable('tables')
    .set({ path: pathText, namespace_id: namespaceId })
    .where('id', '=', tableId)
    .execute();
  await forgetRename(sql, databaseId, pathText);
  await recordRename(sql, { databaseId, path: table.path, tableId, renamedAt: movedAt });
}

interface LifecycleRecord {
  readonly table: TableRecord;
  readonly entry: CommitEntry;
  readonly committedAt: number;
}

async function record(sql: Sql, { table, entry, committedAt }: LifecycleRecord): Promise<Recorded> {
  const { id: tableId, databaseId, path } = table;
  return { transactionId: await recordTransaction(sql, { ...entry, databaseId, tableId, path, committedAt }) };
}
