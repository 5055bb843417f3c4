import { sql as statement } from 'kysely';
import type { NamespacePath, TablePath } from '../../model/identifier.ts';
import { isObjectRoot } from '../../model/table.ts';
import type { TableRecord, TableSummary } from '../../model/table.ts';
import type { IndexTuning } from '../../model/tuning/search-tuning.ts';
import type { CatalogContext } from '../context.ts';
import { createHeadStore } from '../nodes/heads.ts';
import { requireNamespaceId } from '../namespaces/namespace-rows.ts';
import { pathKey, rangeFrom, toPathText, toTablePath } from '../path-text.ts';
import type { Sql } from '../store.ts';
import { adoptTables } from './adoption.ts';
import type { FoundTable } from './adoption.ts';
import { createDeclarationStore } from './declarations.ts';
import { createLifecycleStore } from './lifecycle.ts';
import { createReservationStore } from './reservations.ts';
import {
  SUMMARY_COLUMNS,
  findVisible,
  releaseVersion,
  saveTuning,
  toTableRecord,
  toTableSummary,
  visibleTables,
} from './table-rows.ts';

interface TablePage {
  readonly databaseId: string;
  /** The path of the last table of the previous page. */
  readonly after?: TablePath | undefined;
  /** Only tables at this path or below it, at any depth. */
  readonly under?: NamespacePath;
  /** Only tables directly in this namespace. */
  readonly inside?: NamespacePath;
  readonly paths?: readonly TablePath[] | undefined;
  readonly limit: number;
}

interface PropertyPage {
  /** All databases if absent. */
  readonly databaseId?: string | undefined;
  /** The `next` of the previous page. */
  readonly after?: string | undefined;
}

interface TablesWithProperty {
  readonly tables: readonly TableRecord[];
  readonly next: string | undefined;
}

export function createTableStore(context: CatalogContext) {
  const { read, write, caches, roots } = context;
  const cache = caches.create<TableRecord>();
  const heads = createHeadStore(context);
  return {
    ...createReservationStore(context),
    ...createDeclarationStore(context),
    ...createLifecycleStore(context),

    /** As of `since`, when a request arrived; by default, as of now. */
    async find(databaseId: string, path: TablePath, since?: number): Promise<TableRecord | undefined> {
      const load = async (): Promise<TableRecord | undefined> => {
        const row = await read(async (sql) => findVisible(sql, databaseId, path));
        return row && toTableRecord(row, roots);
      };
      const table = await cache.find(pathKey(databaseId, path), load, since);
      if (table === undefined || !isObjectRoot(table.location.root)) return table;
      return { ...table, recordedVersion: await heads.find(table.id) };
    },

    async findById(tableId: string): Promise<TableRecord | undefined> {
      const row = await read(async (sql) => visibleTables(sql).where('id', '=', tableId).executeTakeFirst());
      return row && toTableRecord(row, roots);
    },

    /** Whether the table still exists, under any name. */
    async has(tableId: string): Promise<boolean> {
      const row = await read(async (sql) =>
        sql.selectFrom('tables').select('id').where('id', '=', tableId).executeTakeFirst(),
      );
      return row !== undefined;
    },

    /** Its current path, without reading its properties. */
    async findPath(tableId: string): Promise<TablePath | undefined> {
      const row = await read(async (sql) =>
        sql
          .selectFrom('tables')
          .select('path')
          .where('id', '=', tableId)
          .where('state', '!=', 'reserved')
          .executeTakeFirst(),
      );
      return row && toTablePath(row.path);
    },

    /** Published and declared tables, ordered by path, name by name, byte by byte. */
    async list(page: TablePage): Promise<readonly TableSummary[]> {
      const rows = await read(async (sql) => listRows(sql, page));
      return rows.map((row) => toTableSummary(row, roots));
    },

    /** Tables with this property, ordered by id. A page may be empty; the last page has no `next`. */
    async listWithProperty(name: string, page: PropertyPage): Promise<TablesWithProperty> {
      const { rows, next } = await read(async (sql) => listMentioning(sql, name, page));
      const tables = rows.map((row) => toTableRecord(row, roots));
      return { tables: tables.filter(({ properties }) => properties[name] !== undefined), next };
    },

    /** Lets readers see the latest version again. */
    async release(tableId: string): Promise<void> {
      await write(async (sql) => releaseVersion(sql, tableId));
    },

    async saveTuning(tableId: string, tuning: IndexTuning): Promise<void> {
      const { index, branch } = tuning;
      await write(async (sql) =>
        saveTuning(sql, tableId, (each) => each.index === index && each.branch === branch, tuning),
      );
    },

    /** Does nothing if the index was measured again since. */
    async removeTuning(tableId: string, { index, branch, tunedAt }: IndexTuning): Promise<void> {
      const isSame = (each: IndexTuning): boolean =>
        each.index === index && each.branch === branch && each.tunedAt === tunedAt;
      await write(async (sql) => saveTuning(sql, tableId, isSame, undefined));
    },

    async removeTuningsOfBranch(tableId: string, branch: string): Promise<void> {
      await write(async (sql) => saveTuning(sql, tableId, (each) => each.branch === branch, undefined));
    },

    /**
     * Publishes found tables, except at a known path or location, and creates missing namespaces. Returns how many are
     * new.
     */
    async adopt(databaseId: string, found: readonly FoundTable[]): Promise<number> {
      return adoptTables(context, databaseId, found);
    },
  };
}

/** Bounds the tables, and the bytes of their properties, that are read for one page. */
const PAGE_TABLES = 1000;
const PAGE_BYTES = 4 * 1024 * 1024;

/** Includes tables with a property whose name merely contains this one. */
async function listMentioning(sql: Sql, property: string, { databaseId, after = '' }: PropertyPage) {
  // Known without reading the properties.
  const bytes = statement<number>`octet_length(properties)`;
  let tables = sql.selectFrom('tables').where('state', '!=', 'reserved').where('id', '>', after);
  if (databaseId !== undefined) tables = tables.where('databaseId', '=', databaseId);
  const sized = tables.where(bytes, '>', '{}'.length).select(['id', bytes.as('bytes')]);
  const sizes = await sized.orderBy('id').limit(PAGE_TABLES).execute();
  const count = countFitting(sizes);
  const last = sizes[count - 1]?.id;
  if (last === undefined) return { rows: [], next: undefined };
  const mentioning = tables.selectAll().where('properties', 'like', `%${JSON.stringify(property)}:%`);
  const rows = await mentioning.where('id', '<=', last).orderBy('id').execute();
  return { rows, next: count < sizes.length || count === PAGE_TABLES ? last : undefined };
}

/** How many rows fit into a page; at least one. */
function countFitting(sizes: readonly { readonly bytes: number }[]): number {
  let sum = 0;
  const end = sizes.findIndex(({ bytes }, index) => (sum += bytes) > PAGE_BYTES && index > 0);
  return end === -1 ? sizes.length : end;
}

async function listRows(sql: Sql, page: TablePage) {
  const { databaseId, after, under = [], inside, paths, limit } = page;
  const range = rangeFrom(under);
  let query = sql.selectFrom('tables').select(SUMMARY_COLUMNS);
  query = query.where('databaseId', '=', databaseId).where('state', '!=', 'reserved');
  if (after !== undefined) query = query.where('path', '>', toPathText(after));
  if (range !== undefined) query = query.where('path', '>=', range.from).where('path', '<', range.before);
  if (paths !== undefined && paths.length > 0) query = query.where('path', 'in', paths.map(toPathText));
  if (inside !== undefined) {
    const namespaceId = await requireNamespaceId(sql, databaseId, inside);
    query = query.where('namespaceId', namespaceId === null ? 'is' : '=', namespaceId);
  }
  return paths?.length === 0 ? [] : query.orderBy('path').limit(limit).execute();
}
