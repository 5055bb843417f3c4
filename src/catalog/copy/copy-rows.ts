import { sql as statement } from 'kysely';
import type { Kysely } from 'kysely';
import { invalidInput } from '../../errors/service-error.ts';
import { renewGeneration } from '../context.ts';
import type { CatalogStore, Sql } from '../store.ts';
import { COPIED_TABLES } from './copied-tables.ts';

export interface CopyProgress {
  readonly table: string;
  readonly rows: number;
  readonly isDone: boolean;
}

interface CopySettings {
  readonly source: CatalogStore;
  readonly target: CatalogStore;
  readonly now: number;
  /** Refuses a source that a server uses. Runs in the source's transaction. */
  readonly requireUnused: (sql: Sql) => Promise<void>;
  readonly onProgress: (progress: CopyProgress) => void;
}

/** Row counts by table. */
export type CopiedRows = ReadonlyMap<string, number>;

/**
 * Copies every row in one transaction of the target. Both catalogs have the newest schema. A transaction in the source
 * prevents changes meanwhile; it ends first, so that its failure leaves the target unchanged.
 */
export async function copyRows({ source, target, now, requireUnused, onProgress }: CopySettings): Promise<CopiedRows> {
  return target.transact(async (to) => {
    await requireEmpty(to);
    const copied = await source.transact(async (from) => {
      await requireUnused(from);
      const rows = new Map<string, number>();
      for (const table of COPIED_TABLES) rows.set(table.name, await copyTable({ table, from, to, onProgress }));
      return rows;
    });
    await renewGeneration(to, now);
    return copied;
  });
}

async function requireEmpty(sql: Sql): Promise<void> {
  for (const { name } of COPIED_TABLES) {
    const row = await anyTable(sql).selectFrom(name).selectAll().limit(1).executeTakeFirst();
    if (row === undefined) continue;
    throw invalidInput('The target already has a catalog.', 'Give a new file or database.');
  }
}

/** SQLite allows 32,766 values in a statement, and the widest table has about 20 columns. */
const PAGE_ROWS = 500;

interface TableCopy extends Pick<CopySettings, 'onProgress'> {
  readonly table: (typeof COPIED_TABLES)[number];
  readonly from: Sql;
  readonly to: Sql;
}

async function copyTable({ table: { name, key, reset }, from, to, onProgress }: TableCopy): Promise<number> {
  let rows = 0;
  for (let last: Row | undefined; ;) {
    const page = await readPage(anyTable(from), { name, key, last });
    if (page.length > 0) {
      const values = reset === undefined ? page : page.map((row) => ({ ...row, ...reset }));
      await anyTable(to).insertInto(name).values(values).execute();
    }
    rows += page.length;
    const isDone = page.length < PAGE_ROWS;
    onProgress({ table: name, rows, isDone });
    if (isDone) return rows;
    last = page.at(-1);
  }
}

interface Page {
  readonly name: string;
  readonly key: readonly string[];
  /** The last row of the previous page. */
  readonly last: Row | undefined;
}

async function readPage(sql: AnyTable, { name, key, last }: Page): Promise<readonly Row[]> {
  let query = sql.selectFrom(name).selectAll().limit(PAGE_ROWS);
  for (const column of key) query = query.orderBy(column);
  if (last !== undefined) {
    const columns = statement.join(key.map((column) => statement.ref(column)));
    const values = statement.join(key.map((column) => last[column]));
    query = query.where(statement<boolean>`(${columns}) > (${values})`);
  }
  return query.execute();
}

type Row = Readonly<Record<string, unknown>>;
type AnyTable = Kysely<Record<string, Record<string, unknown>>>;

function anyTable(sql: Sql): AnyTable {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- All tables are copied alike, by the names in TABLES.
  return sql as unknown as AnyTable;
}
