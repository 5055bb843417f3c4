import type { TableRecord } from '../../model/table.ts';
import type { RequestFacts, NewTableRequest, Reply } from '../operation.ts';
import { readFlag } from '../shared/parameters.ts';
import type { Services } from '../services.ts';
import { ServiceError } from '../../errors/service-error.ts';
import { guardProperties } from '../../guard/metadata.ts';
import { locationUri } from '../../model/table.ts';
import { DeclareTableBody, DeclareTableReply } from '../../wire/tables.ts';
import { toNameEntry } from '../shared/record-commit.ts';
import { defineNewTableOperation, json } from '../operation.ts';

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

export const declareTable = defineNewTableOperation({
  id: 'declare_table',
  path: '/v1/table/:id/declare',
  summary: 'Reserve a name and a location, whose data the caller writes itself',
  permission: 'write',
  body: { kind: 'json', shape: DeclareTableBody },
  replies: [json(DeclareTableReply, 'Where to write.')],
  statuses: [409],
  run: declare,
});

async function declare(request: NewTableRequest<DeclareTableBody>, services: Services): Promise<Reply> {
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
    toNameEntry(request, 'declare_table'),
  );
  const reply: DeclareTableReply = {
    location: locationUri(table.location),
    storage_options: {},
    properties: { ...table.properties },
    transaction_id: transactionId,
  };
  return { kind: 'object', body: reply };
}
