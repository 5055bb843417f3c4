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
import { toLocationColumns } from './table-rows.ts';

/** A table that the engine has found on storage. */
export interface FoundTable {
  readonly path: TablePath;
  readonly location: TableLocation;
}

const TABLES_PER_TRANSACTION = 100;
const ADOPTER = 'adoption';

/** Gives how many tables are new. The others are there already: their location, or another table at their path. */
export async function adoptTables(
  { append, roots, now }: CatalogContext,
  databaseId: string,
  found: readonly FoundTable[],
): Promise<number> {
  let adopted = 0;
  for (let start = 0; start < found.length; start += TABLES_PER_TRANSACTION) {
    const some = found.slice(start, start + TABLES_PER_TRANSACTION);
    adopted += await append(async (sql) => adoptSome(sql, { databaseId, found: some, roots, createdAt: now() }));
    // Statements never leave the queue of microtasks; other work gets its turn here.
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

async function adoptSome(sql: Sql, adoption: Adoption): Promise<number> {
  const { databaseId, roots, createdAt } = adoption;
  const unknown = await withoutKnown(sql, adoption);
  let adopted = 0;
  for (const { path, location } of unknown) {
    const namespaceId = await ensureNamespaceId(sql, databaseId, namespaceOf(path), createdAt);
    const row: TableRow = {
      id: createId(createdAt),
      database_id: databaseId,
      namespace_id: namespaceId,
      path: toPathText(path),
      state: 'published',
      ...toLocationColumns(location, roots),
      properties: '{}',
      held_version: null,
      held_branch: null,
      created_by: ADOPTER,
      created_at: createdAt,
    };
    // Without naming which key, because both count: the path and the location.
    const insert = sql.insertInto('tables').values(row);
    const result = await insert.onConflict((conflict) => conflict.doNothing()).executeTakeFirst();
    adopted += Number(result.numInsertedOrUpdatedRows ?? 0n);
  }
  return adopted;
}

/** First, so that no namespace is made for a table that is not adopted. */
async function withoutKnown(sql: Sql, { databaseId, found, roots }: Adoption): Promise<readonly FoundTable[]> {
  const paths = found.map(({ path }) => toPathText(path));
  const locations = found.map(({ location }) => toLocationColumns(location, roots).location);
  const rows = await sql
    .selectFrom('tables')
    .select(['database_id', 'path', 'location'])
    .where((where) =>
      where.or([
        where('location', 'in', locations),
        where.and([where('database_id', '=', databaseId), where('path', 'in', paths)]),
      ]),
    )
    .execute();
  const knownLocations = new Set([...rows.map((row) => row.location), ...(await keptLocations(sql, locations))]);
  const knownPaths = new Set(rows.filter((row) => row.database_id === databaseId).map((row) => row.path));
  return found.filter((_, index) => !knownLocations.has(locations[index] ?? '') && !knownPaths.has(paths[index] ?? ''));
}

/** What was deregistered is its owner's, and what is being removed is nobody's. */
async function keptLocations(sql: Sql, locations: readonly string[]): Promise<readonly string[]> {
  const released = await sql.selectFrom('releases').select('location').where('location', 'in', locations).execute();
  const removed = await sql.selectFrom('removals').select('location').where('location', 'in', locations).execute();
  return [...released, ...removed].map((row) => row.location);
}
