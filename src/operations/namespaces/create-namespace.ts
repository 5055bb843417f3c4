import { ServiceError } from '../../errors/service-error.ts';
import { guardProperties } from '../../guard/metadata.ts';
import { isPermitted } from '../../model/caller.ts';
import { notPermitted } from '../../model/refusals.ts';
import { CreateNamespaceBody, CreateNamespaceReply, NamespaceQuery } from '../../wire/namespaces.ts';
import { toNameEntry } from '../name-entry.ts';
import { defineNewNamespaceOperation } from '../operation.ts';
import type { NamespaceRequest, Reply } from '../operation.ts';
import { removeData } from '../remove-data.ts';
import type { Services } from '../services.ts';
import { readWord } from '../words.ts';

export const createNamespace = defineNewNamespaceOperation({
  id: 'create_namespace',
  methods: ['POST'],
  path: '/v1/namespace/:id/create',
  summary: 'Create a namespace',
  permission: 'write',
  body: { kind: 'json', shape: CreateNamespaceBody },
  query: NamespaceQuery,
  replies: [{ mediaType: 'application/json', shape: CreateNamespaceReply, description: 'The namespace as it is now.' }],
  statuses: [409],
  run: create,
});

type Request = NamespaceRequest<CreateNamespaceBody>;

async function create(request: Request, services: Services): Promise<Reply> {
  const mode = readWord('mode', request.body.mode, ['create', 'exist_ok', 'overwrite']);
  const { properties = {} } = request.body;
  guardProperties(properties, 'properties', services.limits.metadata);
  switch (mode) {
    case 'create':
      return createNew(request, services);
    case 'exist_ok':
      return createOrKeep(request, services);
    case 'overwrite':
      return replace(request, services);
  }
}

async function createNew(request: Request, services: Services): Promise<Reply> {
  const { namespaces } = services.catalog;
  const made = toNamespace(request);
  const { transactionId } = await namespaces.create(made, toNameEntry(request, 'create_namespace'));
  return toReply(made.properties, transactionId);
}

async function createOrKeep(request: Request, services: Services): Promise<Reply> {
  try {
    return await createNew(request, services);
  } catch (error) {
    if (!(error instanceof ServiceError) || error.kind !== 'NamespaceAlreadyExists') throw error;
    const kept = await services.catalog.namespaces.find(request.database.id, request.namespace);
    // Dropped in between: to create it is then as good as new.
    return kept === undefined ? createNew(request, services) : toReply(kept.properties, undefined);
  }
}

/** All that was inside is dropped, so that more is needed than for a namespace that is not there. */
async function replace(request: Request, services: Services): Promise<Reply> {
  const { caller, database, namespace } = request;
  const isThere = await services.catalog.namespaces.exists(database.id, namespace);
  if (isThere && !isPermitted(caller, 'manage', database.name, namespace)) throw notPermitted('manage');
  const made = toNamespace(request);
  const entry = toNameEntry(request, 'create_namespace');
  const { transactionId, removals } = await services.catalog.namespaces.replace(made, entry);
  await removeData(services, removals);
  return toReply(made.properties, transactionId);
}

function toNamespace({ database, namespace, body }: Request) {
  return { databaseId: database.id, path: namespace, properties: body.properties ?? {} };
}

function toReply(properties: Readonly<Record<string, string>>, transactionId: string | undefined): Reply {
  const reply: CreateNamespaceReply = {
    properties: { ...properties },
    ...(transactionId === undefined ? {} : { transaction_id: transactionId }),
  };
  return { kind: 'object', body: reply };
}
