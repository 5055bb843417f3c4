import { namespaceNotFound } from '../../model/refusals.ts';
import { DescribeNamespaceReply, NamespaceBody, NamespaceQuery } from '../../wire/namespaces.ts';
import { NoContent } from '../../wire/shapes.ts';
import { defineNamespaceOperation } from '../operation.ts';
import type { NamespaceRequest, Reply } from '../operation.ts';
import type { Services } from '../services.ts';
import { toShownPath } from '../shown-path.ts';

export const describeNamespace = defineNamespaceOperation({
  id: 'describe_namespace',
  methods: ['POST'],
  path: '/v1/namespace/:id/describe',
  pathOfRoot: '/v1/namespace/describe',
  summary: 'Describe a namespace: its properties',
  permission: 'see',
  body: { kind: 'json', shape: NamespaceBody },
  query: NamespaceQuery,
  replies: [{ mediaType: 'application/json', shape: DescribeNamespaceReply, description: 'The namespace.' }],
  statuses: [],
  run: describe,
});

export const namespaceExists = defineNamespaceOperation({
  id: 'namespace_exists',
  methods: ['POST'],
  path: '/v1/namespace/:id/exists',
  pathOfRoot: '/v1/namespace/exists',
  summary: 'Tell by the status whether a namespace exists',
  permission: 'see',
  body: { kind: 'json', shape: NamespaceBody },
  query: NamespaceQuery,
  replies: [{ mediaType: 'application/json', shape: NoContent, description: 'It exists. No body.' }],
  statuses: [],
  run: async () => ({ kind: 'empty' }),
});

async function describe(request: NamespaceRequest<NamespaceBody>, services: Services): Promise<Reply> {
  const { database, namespace: path, delimiter } = request;
  const namespace = await services.catalog.namespaces.find(database.id, path);
  if (namespace === undefined) throw namespaceNotFound(toShownPath(request, path), delimiter);
  const reply: DescribeNamespaceReply = { properties: { ...namespace.properties } };
  return { kind: 'object', body: reply };
}
