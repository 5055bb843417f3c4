import type { NodeRecord, Takeover } from '../catalog/catalog.ts';
import { ListNodesBody, ListNodesReply } from '../wire/operating/nodes.ts';
import type { Sent } from '../wire/shapes.ts';
import { requireServerAdministrator } from './access/access-rules.ts';
import { defineServerOperation, json, objectReply } from './operation.ts';

const TAKEOVERS_MAX = 50;

export const listNodes = defineServerOperation({
  id: 'list_nodes',
  methods: ['GET', 'POST'],
  path: '/v1/nodes/list',
  summary: 'List the nodes of the cluster and their takeovers',
  permission: 'administer',
  body: { kind: 'json', shape: ListNodesBody },
  replies: [json(ListNodesReply, 'The nodes of the cluster; only this one for a single node.')],
  async run({ caller }, { nodes }) {
    requireServerAdministrator(caller);
    const [listed, takeovers] = await Promise.all([nodes.list(), nodes.listTakeovers(TAKEOVERS_MAX)]);
    return objectReply<typeof ListNodesReply>({
      node_id: nodes.ownId,
      nodes: listed.map(toNode),
      takeovers: takeovers.map(toTakeover),
    });
  },
});

function toNode({ startedAt, isAlive, ...node }: NodeRecord): Sent<ListNodesReply['nodes'][number]> {
  return { ...node, started_at: new Date(startedAt).toISOString(), alive: isAlive };
}

function toTakeover(takeover: Takeover): Sent<ListNodesReply['takeovers'][number]> {
  const { database, path, epoch, takenFrom, nodeId, takenAt } = takeover;
  return {
    database,
    id: [...path],
    epoch,
    taken_from: takenFrom,
    taken_by: nodeId,
    taken_at: new Date(takenAt).toISOString(),
  };
}
