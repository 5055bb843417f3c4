import type { TableRecord } from '../../model/table.ts';
import type { RequestFacts } from '../operation.ts';
import { readFlag } from '../query-flags.ts';
import type { Services } from '../services.ts';

/** Whether a table is declared and has no data yet. One whose data were found is an ordinary table from then on. */
export async function isOnlyDeclared(table: TableRecord, { engine, catalog }: Services): Promise<boolean> {
  if (table.isDeclared === undefined) return false;
  if (!(await engine.lifecycle.hasData(table.location))) return true;
  await catalog.tables.promote(table.id);
  return false;
}

/** Without those that are only declared, where the caller wants it so; the LanceDB client could not open them. */
export async function leaveOutDeclared(
  request: RequestFacts,
  tables: readonly TableRecord[],
  services: Services,
): Promise<readonly TableRecord[]> {
  const isIncluded = readFlag(request.query, 'include_declared') ?? request.dialect === 'lance';
  if (isIncluded) return tables;
  const shown: TableRecord[] = [];
  for (const table of tables) if (!(await isOnlyDeclared(table, services))) shown.push(table);
  return shown;
}
