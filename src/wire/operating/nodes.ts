import { Type } from 'typebox';
import * as Shape from '../shapes.ts';

export const ListNodesBody = Shape.requestBodyWithoutId({});

const ServingNode = Type.Object({
  id: Type.String({ description: 'Of one process: a node that is started again has another one.' }),
  name: Type.String({ description: 'Its machine, and where it listens.' }),
  address: Shape.optionalText('Where other nodes reach it: node.url. Absent for one that serves alone.'),
  release: Type.String({ description: 'Of the server.' }),
  started_at: Type.String({ description: 'RFC 3339, UTC.' }),
  alive: Type.Boolean({ description: 'False when it was silent for longer than node.leaseSeconds.' }),
  leases: Type.Integer({ description: 'Tables that it may write.' }),
  forwards: Type.Integer({
    description: 'Writes that it is passing on to other nodes; of other nodes, as of their last heartbeat.',
  }),
});

const Takeover = Type.Object({
  database: Type.String(),
  id: Type.Array(Type.String(), { description: 'Names of the table.' }),
  epoch: Type.Integer({ description: 'Grows with each change of the node that writes the table.' }),
  taken_from: Type.String({ description: 'Id of the node that was silent.' }),
  taken_by: Shape.optionalText('Id of the node that took over; absent when it has left since.'),
  taken_at: Type.String({ description: 'RFC 3339, UTC.' }),
});

export const ListNodesReply = Shape.replyBody({
  node_id: Type.String({ description: 'Id of the node that answered.' }),
  nodes: Type.Array(ServingNode, {
    description: 'In the order of their start; those that ended without leaving are shown for an hour.',
  }),
  takeovers: Type.Array(Takeover, { description: 'The last takeover of each table, newest first, 50 at most.' }),
});
export type ListNodesReply = Type.Static<typeof ListNodesReply>;
