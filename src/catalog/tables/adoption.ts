import { setImmediate as nextTurn } from 'node:timers/promises';
import { namespaceOf } from '../../model/identifier.ts';
import type { TablePath } from '../../model/identifier.ts';
import type { TableLocation } from '../../model/table.ts';
import type { CatalogContext } from '../context.ts';
import { createId } from '../ids.ts';
import { ensureNamespaceId } from '../namespaces/namespace-rows.ts';
import { toPathText } from '../path-text.ts';
import type { TableRow } from '../schema/rows.ts';
import type { StorageRoots } from '../storage-roots.ts';
import type { Sql } from '../store.ts';
import { toLocationColumns, toTableRow } from './table-rows.ts';

/** A table that the engine has found on storage. */
export interface FoundTable {
  readonly path: TablePath;
  readonly location: TableLocation;
}

const TABLES_PER_TRANSACTION = 100;

export async function adoptTables(
  { append, roots, now }: CatalogContext,
  databaseId: string,
  found: readonly FoundTable[],
): Promise<number> {
  let adopted = 0;
  for (let start = 0; start < found.length; start += TABLES_PER_TRANSACTION) {
    const some = found.slice(start, start + TABLES_PER_TRANSACTION);
    adopted += await append(async (sql) => adoptSome(sql, { databaseId, found: some, roots, createdAt: now() }));
    // Statements never leave the queue of microtasks: this lets other events in.
    await nextTurn();
  }
  return adopted;
}

interface Adoption {
  readonly databaseId: string;
  readonly found: readonly FoundTable[];
  readonly roots: StorageRoots;
  readonly createdAt: number;
}

async function adoptSome(sql: Sql, { databaseId, found, roots, createdAt }: Adoption): Promise<number> {
  const isKnown = await findKnown(sql, databaseId, {
    paths: found.map(({ path }) => toPathText(path)),
    locations: found.map(({ location }) => toLocationColumns(location, roots).location),
  });
  let adopted = 0;
  for (const { path, location } of found) {
    const id = createId(createdAt);
    const table = { id, databaseId, location, pathText: toPathText(path), createdBy: 'adoption', createdAt } as const;
    const row = toTableRow({ ...table, namespaceId: null, state: 'published' }, roots);
    // No namespace is created for a known table.
    if (isKnown(row)) continue;
    const namespaceId = await ensureNamespaceId(sql, databaseId, namespaceOf(path), createdAt);
    const insert = sql.insertInto('tables').values({ ...row, namespace_id: namespaceId });
    // Names no key, because both count: the path and the location.
    const result = await insert.onConflict((conflict) => conflict.doNothing()).executeTakeFirst();
    adopted += Number(result.numInsertedOrUpdatedRows ?? 0n);
  }
  return adopted;
}

async function findKnown(
  sql: Sql,
  databaseId: string,
  { paths, locations }: { readonly paths: readonly string[]; readonly locations: readonly string[] },
): Promise<(row: TableRow) => boolean> {
  const atPath = sql.selectFrom('tables').select('path').where('database_id', '=', databaseId);
  const pathRows = await atPath.where('path', 'in', paths).execute();
  const knownPaths = new Set(pathRows.map((row) => row.path));
  const knownLocations = new Set<string>();
  // Released data belong to their owner; those of `removals` are being deleted.
  for (const table of ['tables', 'releases', 'removals'] as const) {
    const rows = await sql.selectFrom(table).select('location').where('location', 'in', locations).execute();
    for (const { location } of rows) knownLocations.add(location);
  }
  return ({ path, location }) => knownPaths.has(path) || knownLocations.has(location);
}
