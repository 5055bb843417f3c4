import { Type } from 'typebox';
import * as Shape from '../shapes.ts';

export const ListNodesBody = Shape.requestBodyWithoutId({});

const ServingNode = Type.Object({
  id: Type.String({ description: 'Identifies a process: a node that restarts gets a new id.' }),
  name: Type.String({ description: 'Host name and port.' }),
  address: Shape.optionalText('URL where other nodes reach it (`node.url`); absent for a single node.'),
  release: Type.String({ description: 'Release of the server.' }),
  started_at: Type.String({ description: 'RFC 3339, UTC.' }),
  alive: Type.Boolean({ description: 'False if the last heartbeat is older than `node.leaseSeconds`.' }),
  leases: Type.Integer({ description: 'Number of tables whose lease the node holds.' }),
  forwards: Type.Integer({
    description: 'Writes being forwarded to other nodes, as of the last heartbeat.',
  }),
});

const Takeover = Type.Object({
  database: Type.String(),
  id: Type.Array(Type.String(), { description: 'Path of the table.' }),
  epoch: Type.Integer({ description: 'Increases with each change of the lease holder.' }),
  taken_from: Type.String({ description: 'Id of the previous lease holder.' }),
  taken_by: Shape.optionalText('Id of the node that took over; absent if it has left since.'),
  taken_at: Type.String({ description: 'RFC 3339, UTC.' }),
});

export const ListNodesReply = Shape.replyBody({
  node_id: Type.String({ description: 'Id of the node that handled the request.' }),
  nodes: Type.Array(ServingNode, {
    description: 'In order of start time; nodes that failed are listed for an hour.',
  }),
  takeovers: Type.Array(Takeover, { description: 'The last takeover of each table, newest first, 50 at most.' }),
});
export type ListNodesReply = Type.Static<typeof ListNodesReply>;
