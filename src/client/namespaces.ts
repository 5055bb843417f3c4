import type { NamespacePath } from '../model/identifier.ts';
import type {
  CreateNamespaceBody,
  CreateNamespaceReply,
  DescribeNamespaceReply,
  DropNamespaceBody,
  DropNamespaceReply,
  ListNamespacesReply,
} from '../wire/namespaces.ts';
import { namespaceAddress, listPages } from './calls.ts';
import type { ApiClient } from './api-client.ts';

/** The namespaces directly below one, the root when it is empty. */
export async function* listNamespaces(client: ApiClient, parent: NamespacePath = []): AsyncGenerator<NamespacePath> {
  for await (const page of listPages<ListNamespacesReply>(client, namespaceAddress(parent, 'list'))) {
    for (const name of page.namespaces) yield [...parent, name];
  }
}

export async function createNamespace(
  client: ApiClient,
  namespace: NamespacePath,
  body: CreateNamespaceBody = {},
): Promise<CreateNamespaceReply> {
  return callNamespace(client, namespace, 'create', body);
}

export async function describeNamespace(client: ApiClient, namespace: NamespacePath): Promise<DescribeNamespaceReply> {
  return callNamespace(client, namespace, 'describe', {});
}

export async function dropNamespace(
  client: ApiClient,
  namespace: NamespacePath,
  body: DropNamespaceBody = {},
): Promise<DropNamespaceReply> {
  return callNamespace(client, namespace, 'drop', body);
}

async function callNamespace<Reply>(
  client: ApiClient,
  namespace: NamespacePath,
  action: string,
  json: object,
): Promise<Reply> {
  const { path, query } = namespaceAddress(namespace, action);
  return client.json(path, { query, json });
}
