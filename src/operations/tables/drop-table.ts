import type { TableRecord } from '../../model/table.ts';
import { locationUri } from '../../model/table.ts';
import { GoneTableReply, TableBody } from '../../wire/tables.ts';
import { toNameEntry } from '../shared/record-commit.ts';
import { defineTableOperation, json } from '../operation.ts';
import type { Reply, RequestFacts, TableRequest } from '../operation.ts';
import { removeData } from '../shared/remove-data.ts';
import type { Services } from '../services.ts';
import { toShownPath } from '../shared/shown-path.ts';

export const dropTable = defineTableOperation({
  id: 'drop_table',
  path: '/v1/table/:id/drop',
  summary: 'Drop a table and remove its data',
  permission: 'manage',
  followsRename: 'never',
  body: { kind: 'json', shape: TableBody },
  replies: [json(GoneTableReply, 'What it was.')],
  run: drop,
});

export const deregisterTable = defineTableOperation({
  id: 'deregister_table',
  path: '/v1/table/:id/deregister',
  summary: 'Take a table out of the catalog and leave its data',
  permission: 'manage',
  followsRename: 'never',
  body: { kind: 'json', shape: TableBody },
  replies: [json(GoneTableReply, 'What it was, and where its data are.')],
  run: deregister,
});

/** First the name, so that nobody sees a table half removed; then the data, in the lane of the table's writers. */
async function drop(request: TableRequest<TableBody>, services: Services): Promise<Reply> {
  const { table } = request;
  const entry = toNameEntry(request, 'drop_table');
  const { transactionId, removal } = await services.catalog.tables.drop(table, entry);
  await removeData(services, [removal]);
  return toReply(request, table, transactionId);
}

async function deregister(request: TableRequest<TableBody>, services: Services): Promise<Reply> {
  const { table } = request;
  const entry = toNameEntry(request, 'deregister_table');
  const { transactionId } = await services.catalog.tables.deregister(table, entry);
  services.engine.lifecycle.close(table.location);
  return toReply(request, table, transactionId);
}

function toReply(request: RequestFacts, table: TableRecord, transactionId: string): Reply {
  const reply: GoneTableReply = {
    id: toShownPath(request, table.path),
    location: locationUri(table.location),
    properties: { ...table.properties },
    transaction_id: transactionId,
  };
  return { kind: 'object', body: reply };
}
