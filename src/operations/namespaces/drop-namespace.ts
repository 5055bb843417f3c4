import { ServiceError } from '../../errors/service-error.ts';
import { namespaceNotFound } from '../../model/refusals.ts';
import { DropNamespaceBody, DropNamespaceReply, NamespaceQuery } from '../../wire/namespaces.ts';
import { toNameEntry } from '../name-entry.ts';
import { defineNamespaceOperation } from '../operation.ts';
import type { NamespaceRequest, Reply } from '../operation.ts';
import { removeData } from '../remove-data.ts';
import type { Services } from '../services.ts';
import { toShownPath } from '../shown-path.ts';
import { readWord } from '../words.ts';

export const dropNamespace = defineNamespaceOperation({
  id: 'drop_namespace',
  methods: ['POST'],
  path: '/v1/namespace/:id/drop',
  summary: 'Drop a namespace, and with behavior "cascade" all that is inside',
  permission: 'manage',
  mayBeAbsent: true,
  body: { kind: 'json', shape: DropNamespaceBody },
  query: NamespaceQuery,
  replies: [{ mediaType: 'application/json', shape: DropNamespaceReply, description: 'What it was.' }],
  statuses: [409],
  run: drop,
});

async function drop(request: NamespaceRequest<DropNamespaceBody>, services: Services): Promise<Reply> {
  const { database, namespace: path, body } = request;
  const mode = readWord('mode', body.mode, ['fail', 'skip']);
  const behavior = readWord('behavior', body.behavior, ['restrict', 'cascade']);
  const shown = toShownPath(request, path);
  if (shown.length === 0) throw new ServiceError('InvalidInput', 'The root namespace cannot be dropped.');

  const found = await services.catalog.namespaces.find(database.id, path);
  const entry = toNameEntry(request, 'drop_namespace');
  const dropped = await services.catalog.namespaces.drop({ databaseId: database.id, path, behavior }, entry);
  if (dropped === undefined) {
    if (mode === 'fail') throw namespaceNotFound(shown, request.delimiter);
    return { kind: 'object', body: {} };
  }
  await removeData(services, dropped.removals);
  // An array, where all other replies have one text: the clients read nothing else here.
  const reply: DropNamespaceReply = {
    properties: { ...found?.properties },
    transaction_id: [dropped.transactionId],
  };
  return { kind: 'object', body: reply };
}
