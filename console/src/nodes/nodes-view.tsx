import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { ClientError } from '../../../src/client/client-error.ts';
import { listNodes } from '../../../src/client/nodes.ts';
import type { ListNodesReply } from '../../../src/wire/operating/nodes.ts';
import { usePolling } from '../activity/use-activity.ts';
import { useClient } from '../api.ts';
import { Button } from '../parts/button.tsx';
import { ErrorBox } from '../parts/error-box.tsx';
import { formatAgo, formatCount, formatMoment } from '../parts/format.ts';
import { Heads, right } from '../parts/grid/pager.tsx';
import { Icon } from '../parts/icon.tsx';
import { Badge, Empty, Skeleton } from '../parts/states.tsx';
import { useDocumentTitle, useLoad } from '../parts/use-load.ts';

type Node = ListNodesReply['nodes'][number];

/** The nodes of the cluster; for administrators of the server. */
export function NodesView(): JSX.Element {
  useDocumentTitle('Nodes');
  const client = useClient();
  const [isPaused, setIsPaused] = useState(false);
  const nodes = useLoad(async () => listNodes(client), [client]);
  usePolling(nodes, isPaused);
  return (
    <div class="view">
      <header class="section-head">
        <h1>Nodes</h1>
        <span class="muted">{isPaused ? 'Paused' : 'Live, every 5 s'}</span>
        <span class="spring" />
        <Button icon={isPaused ? 'play' : 'pause'} isPressed={isPaused} onClick={() => setIsPaused(!isPaused)}>
          {isPaused ? 'Resume' : 'Pause'}
        </Button>
      </header>
      {isRefused(nodes.error) ? (
        <p class="note">
          <Icon name="info" />
          <span>
            Nodes are shown to server administrators: sign in with a key that has the admin role on every database.
          </span>
        </p>
      ) : (
        <ErrorBox error={nodes.error} onRetry={nodes.reload} />
      )}
      {nodes.value === undefined ? null : <Shown reply={nodes.value} />}
      {nodes.value === undefined && nodes.error === undefined ? <Skeleton /> : null}
    </div>
  );
}

function isRefused(error: unknown): boolean {
  return error instanceof ClientError && error.status === 403;
}

function Shown({ reply }: { readonly reply: ListNodesReply }): JSX.Element {
  return (
    <>
      <div class="scrolled" tabIndex={0} role="region" aria-label="Nodes">
        <table class="entries" aria-label="Nodes, in order of start time">
          <Heads heads={['Node', 'State', 'Address', 'Started', right('Leases'), right('Forwarded'), 'Release']} />
          <tbody>
            {reply.nodes.map((node) => (
              <NodeRow key={node.id} node={node} hasAnswered={node.id === reply.node_id} />
            ))}
          </tbody>
        </table>
      </div>
      <div class="feeds">
        <section class="card feed wide" aria-label="Takeovers">
          <h2>Takeovers</h2>
          <Takeovers reply={reply} />
        </section>
      </div>
    </>
  );
}

function NodeRow({ node, hasAnswered }: { readonly node: Node; readonly hasAnswered: boolean }): JSX.Element {
  const started = Date.parse(node.started_at);
  return (
    <tr>
      <th scope="row" title={node.id}>
        {node.name} {hasAnswered ? <Badge kind="accent">this node</Badge> : null}
      </th>
      <td>{node.alive ? <Badge kind="good">alive</Badge> : <Badge kind="bad">not responding</Badge>}</td>
      <td>{node.address === undefined ? <span class="muted">single node</span> : <code>{node.address}</code>}</td>
      <td>
        <time dateTime={node.started_at} title={formatMoment(started)}>
          {formatAgo(started)}
        </time>
      </td>
      <td class="right">{formatCount(node.leases)}</td>
      <td class="right">{formatCount(node.forwards)}</td>
      <td>{node.release}</td>
    </tr>
  );
}

function Takeovers({ reply: { takeovers, nodes } }: { readonly reply: ListNodesReply }): JSX.Element {
  if (takeovers.length === 0)
    return (
      <Empty icon="check" title="No takeovers">
        <p>When a node stops, others take over the tables that it was writing.</p>
      </Empty>
    );
  const nameOf = (id: string): string => nodes.find((node) => node.id === id)?.name ?? id;
  return (
    <ul>
      {takeovers.map(({ database, id, taken_from: from, taken_by: by, taken_at: at, epoch }) => (
        <li key={`${database} ${id.join(' ')}`}>
          <span title={`epoch ${epoch}`}>
            <span class="muted">{database}</span> <strong>{id.join(' / ')}</strong>
            <span class="muted"> from </span>
            {nameOf(from)}
            {by === undefined ? null : (
              <>
                <span class="muted"> by </span>
                {nameOf(by)}
              </>
            )}
          </span>
          <span class="spring" />
          <time class="muted" dateTime={at} title={formatMoment(Date.parse(at))}>
            {formatAgo(Date.parse(at))}
          </time>
        </li>
      ))}
    </ul>
  );
}
