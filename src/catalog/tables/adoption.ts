import { setImmediate as nextTurn } from 'node:timers/promises';
import { namespaceOf } from '../../model/identifier.ts';
import type { TablePath } from '../../model/identifier.ts';
import type { TableLocation } from '../../model/table.ts';
import type { CatalogContext } from '../context.ts';
import { createId } from '../ids.ts';
import { ensureNamespaceId } from '../namespaces/namespace-rows.ts';
import { toPathText, toTablePath } from '../path-text.ts';
import type { TableRow } from '../schema/rows.ts';
import type { Sql } from '../store.ts';
import { toTableRow } from './table-rows.ts';

/** A table that the engine has found on storage. */
export interface FoundTable {
  readonly path: TablePath;
  readonly location: TableLocation;
}

const TABLES_PER_TRANSACTION = 100;

export async function adoptTables(
  context: CatalogContext,
  databaseId: string,
  found: readonly FoundTable[],
): Promise<number> {
  let adopted = 0;
  for (let start = 0; start < found.length; start += TABLES_PER_TRANSACTION) {
    const some = found.slice(start, start + TABLES_PER_TRANSACTION);
    adopted += await context.append(async (sql) => adoptSome(sql, { databaseId, found: some }, context));
    // Statements never leave the microtask queue; this lets other events in.
    await nextTurn();
  }
  return adopted;
}

async function adoptSome(
  sql: Sql,
  { databaseId, found }: { readonly databaseId: string; readonly found: readonly FoundTable[] },
  { roots, now }: CatalogContext,
): Promise<number> {
  const createdAt = now();
  const rows = found.map(({ path, location }): TableRow => {
    const table = { id: createId(createdAt), databaseId, location, path: toPathText(path), createdAt };
    return toTableRow({ ...table, namespaceId: null, state: 'published', createdBy: 'adoption' }, roots);
  });
  const isKnown = await findKnown(sql, databaseId, rows);
  let adopted = 0;
  for (const row of rows) {
    // A known table needs no namespace.
    if (isKnown(row)) continue;
    const namespaceId = await ensureNamespaceId(sql, databaseId, namespaceOf(toTablePath(row.path)), createdAt);
    const insert = sql.insertInto('tables').values({ ...row, namespaceId });
    // Without a key, because both the path and the location are unique.
    const result = await insert.onConflict((conflict) => conflict.doNothing()).executeTakeFirst();
    adopted += Number(result.numInsertedOrUpdatedRows ?? 0n);
  }
  return adopted;
}

async function findKnown(sql: Sql, databaseId: string, rows: readonly TableRow[]) {
  const paths = rows.map(({ path }) => path);
  const locations = rows.map(({ location }) => location);
  const atPath = sql.selectFrom('tables').select('path').where('databaseId', '=', databaseId);
  const pathRows = await atPath.where('path', 'in', paths).execute();
  const knownPaths = new Set(pathRows.map((row) => row.path));
  const knownLocations = new Set<string>();
  // Released data belongs to its owner; the data of `removals` is being deleted.
  for (const table of ['tables', 'releases', 'removals'] as const) {
    const known = await sql.selectFrom(table).select('location').where('location', 'in', locations).execute();
    for (const { location } of known) knownLocations.add(location);
  }
  return ({ path, location }: TableRow): boolean => knownPaths.has(path) || knownLocations.has(location);
}
