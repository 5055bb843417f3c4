import { ServiceError } from '../../errors/service-error.ts';
import { guardProperties } from '../../guard/metadata.ts';
import { locationUri } from '../../model/table.ts';
import { DeclareTableBody, DeclareTableReply } from '../../wire/lifecycle.ts';
import { DelimiterQuery } from '../../wire/tables.ts';
import { toNameEntry } from '../name-entry.ts';
import { defineNewTableOperation } from '../operation.ts';
import type { NewTableRequest, Reply } from '../operation.ts';
import type { Services } from '../services.ts';

export const declareTable = defineNewTableOperation({
  id: 'declare_table',
  methods: ['POST'],
  path: '/v1/table/:id/declare',
  summary: 'Reserve a name and a location, whose data the caller writes itself',
  permission: 'write',
  body: { kind: 'json', shape: DeclareTableBody },
  query: DelimiterQuery,
  replies: [{ mediaType: 'application/json', shape: DeclareTableReply, description: 'Where to write.' }],
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
