import { ServiceError } from '../../errors/service-error.ts';
import { guardProperties } from '../../guard/metadata.ts';
import { locationUri } from '../../model/table.ts';
import type { TableRecord } from '../../model/table.ts';
import { DeclareTableBody, DeclareTableReply } from '../../wire/tables.ts';
import { defineNewTableOperation, json, objectReply } from '../operation.ts';
import type { RequestFacts } from '../operation.ts';
import type { Services } from '../services.ts';
import { readFlag } from '../shared/parameters.ts';
import { toCommitEntry } from '../shared/record-commit.ts';

export const declareTable = defineNewTableOperation({
  id: 'declare_table',
  path: '/v1/table/:id/declare',
  summary: 'Reserve a name and a location, whose data the caller writes itself',
  permission: 'write',
  body: { kind: 'json', shape: DeclareTableBody },
  replies: [json(DeclareTableReply, 'Where to write.')],
  statuses: [409],
  async run(request, services) {
    const { path, database, body } = request;
    if (body.location !== undefined) {
      throw new ServiceError('Unsupported', 'The location of a declared table cannot be chosen.', {
        hint: 'Leave location out, or write the data first and register them.',
      });
    }
    const { properties = {} } = body;
    guardProperties(properties, 'properties', services.limits.metadata);
    const { table, transactionId } = await services.catalog.tables.declare(
      { databaseId: database.id, path, root: database.root, properties },
      toCommitEntry(request),
    );
    return objectReply<typeof DeclareTableReply>({
      location: locationUri(table.location),
      storage_options: {},
      properties: table.properties,
      transaction_id: transactionId,
    });
  },
});

/** Whether a table is declared and has no data yet. One whose data were found is an ordinary table from then on. */
export async function isOnlyDeclared(table: TableRecord, { engine, catalog }: Services): Promise<boolean> {
  if (table.isDeclared === undefined) return false;
  if (!(await engine.lifecycle.hasData(table.location))) return true;
  await catalog.tables.promote(table.id);
  return false;
}

/** Leaves out tables without data unless the caller wants them; the LanceDB client could not open them. */
export async function filterDeclared(
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
