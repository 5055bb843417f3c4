import type { ListNodesReply } from '../wire/operating/nodes.ts';
import type { ApiClient } from './api-client.ts';

export async function listNodes(client: ApiClient): Promise<ListNodesReply> {
  return client.json('/v1/nodes/list');
}
