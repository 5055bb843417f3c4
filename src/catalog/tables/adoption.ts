import { setImmediate as nextTurn } from 'node:timers/promises';
import { namespaceOf } from '../../model/identifier.ts';
import type { TablePath } from '../../model/identifier.ts';
import type { TableLocation } from '../../model/table.ts';
import type { CatalogContext } from '../context.ts';
import { createId } from '../ids.ts';
import { ensureNamespaceId } from '../namespaces/namespace-rows.ts';
import { toPathText } from '../path-text.ts';
import type { LocationRow } from '../schema/rows.ts';
import type { Sql } from '../store.ts';
import { toLocationColumns } from './table-rows.ts';

/** A table that the engine has found on storage. */
export interface FoundTable {
  readonly path: TablePath;
  readonly location: TableLocation;
}

const TABLES_PER_TRANSACTION = 100;

/** Gives how many tables are new. Tables with a known location, or at the path of another table, are left out. */
export async function adoptTables(
  { append, roots, now }: CatalogContext,
  databaseId: string,
  found: readonly FoundTable[],
): Promise<number> {
  let adopted = 0;
  for (let start = 0; start < found.length; start += TABLES_PER_TRANSACTION) {
    const tables = found
      .slice(start, start + TABLES_PER_TRANSACTION)
      .map(({ path, location }) => ({ path, pathText: toPathText(path), columns: toLocationColumns(location, roots) }));
    adopted += await append(async (sql) => adoptSome(sql, { databaseId, tables, createdAt: now() }));
    // Statements never leave the queue of microtasks: this lets other events in.
    await nextTurn();
  }
  return adopted;
}

interface Adoption {
  readonly databaseId: string;
  readonly tables: readonly AdoptedTable[];
  readonly createdAt: number;
}

interface AdoptedTable {
  readonly path: TablePath;
  readonly pathText: string;
  readonly columns: LocationRow;
}

async function adoptSome(sql: Sql, adoption: Adoption): Promise<number> {
  const { databaseId, createdAt } = adoption;
  let adopted = 0;
  // Known tables are left out first, so that no namespace is created for them.
  for (const { path, pathText, columns } of await withoutKnown(sql, adoption)) {
    const namespaceId = await ensureNamespaceId(sql, databaseId, namespaceOf(path), createdAt);
    const result = await sql
      .insertInto('tables')
      .values({
        id: createId(createdAt),
        database_id: databaseId,
        namespace_id: namespaceId,
        path: pathText,
        state: 'published',
        ...columns,
        properties: '{}',
        held_version: null,
        held_branch: null,
        created_by: 'adoption',
        created_at: createdAt,
      })
      // Names no key, because both count: the path and the location.
      .onConflict((conflict) => conflict.doNothing())
      .executeTakeFirst();
    adopted += Number(result.numInsertedOrUpdatedRows ?? 0n);
  }
  return adopted;
}

async function withoutKnown(sql: Sql, { databaseId, tables }: Adoption): Promise<readonly AdoptedTable[]> {
  const paths = tables.map(({ pathText }) => pathText);
  const locations = tables.map(({ columns }) => columns.location);
  const atPath = sql.selectFrom('tables').select('path').where('database_id', '=', databaseId);
  const pathRows = await atPath.where('path', 'in', paths).execute();
  const knownPaths = new Set(pathRows.map((row) => row.path));
  const knownLocations = new Set<string>();
  // Released data belong to their owner; those of `removals` are being deleted.
  for (const table of ['tables', 'releases', 'removals'] as const) {
    const rows = await sql.selectFrom(table).select('location').where('location', 'in', locations).execute();
    for (const { location } of rows) knownLocations.add(location);
  }
  return tables.filter(({ pathText, columns }) => !knownPaths.has(pathText) && !knownLocations.has(columns.location));
}
