import { listNodes } from '../../client/nodes.ts';
import { formatCount } from '../../plans/format-figure.ts';
import type { ListNodesReply } from '../../wire/operating/nodes.ts';
import { defineClientCommand } from '../client-command.ts';
import { showPath } from '../session.ts';
import { drawTable } from '../show/draw-table.ts';
import type { Canvas } from '../show/draw-table.ts';
import { formatMoment, visibleText } from '../show/text.ts';

type Node = ListNodesReply['nodes'][number];

export const nodesCommand = defineClientCommand({
  words: ['nodes'],
  names: '',
  summary: 'list the nodes of the cluster and recent takeovers',
  about:
    'Lists the nodes that share the catalog: whether each is alive, how many tables it owns (leases), and how many writes ' +
    'it is forwarding. The star marks the node that replied. Below, the last takeover of each table.',
  examples: ['nodes', 'nodes --json'],
  async run({ client, canvas }) {
    const reply = await listNodes(client);
    return { reply, text: drawNodes(reply, canvas) + drawTakeovers(reply, canvas) };
  },
});

const NODE_HEADS = [
  '',
  'node',
  'address',
  'state',
  'started',
  { number: 'leases' },
  { number: 'forwards' },
  'release',
] as const;

function drawNodes({ node_id: answered, nodes }: ListNodesReply, canvas: Canvas): string {
  const rows = nodes.map((node) => [
    node.id === answered ? '*' : '',
    visibleText(node.name),
    node.address === undefined ? { faint: 'none' } : visibleText(node.address),
    node.alive ? 'alive' : 'silent',
    formatMoment(Date.parse(node.started_at)),
    formatCount(node.leases),
    formatCount(node.forwards),
    visibleText(node.release),
  ]);
  return drawTable(NODE_HEADS, rows, canvas);
}

function drawTakeovers({ takeovers, nodes }: ListNodesReply, canvas: Canvas): string {
  if (takeovers.length === 0) return '';
  const rows = takeovers.map(({ database, id, taken_from: from, taken_by: by, taken_at: at }) => [
    formatMoment(Date.parse(at)),
    database,
    visibleText(showPath(id)),
    nameOf(from, nodes),
    by === undefined ? { faint: 'released since' } : nameOf(by, nodes),
  ]);
  return `\n${drawTable(['taken over', 'database', 'table', 'from', 'by'], rows, canvas)}`;
}

/** A node that is no longer listed is shown by its id. */
function nameOf(id: string, nodes: readonly Node[]): string {
  return visibleText(nodes.find((node) => node.id === id)?.name ?? id);
}
