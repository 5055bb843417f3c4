import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Catalog, NodeRecord } from '../catalog/catalog.ts';
import type { Config } from '../config/config.ts';
import { Membership } from '../coordination/membership.ts';
import { TableLeases } from '../coordination/table-leases.ts';
import type { Engine } from '../engine/engine.ts';
import { Forwarder } from '../http/forwarding/forwarder.ts';
import type { NodeList } from '../operations/services.ts';
import { readRelease } from '../release.ts';
import type { Metrics } from '../telemetry/metrics/metrics.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import type { RequestSpans } from '../telemetry/traces/request-spans.ts';
import type { Writes } from '../writes/writes.ts';
import { ensureInstance, sweepReservations } from './startup.ts';

/** The id of this process if several may share the catalog, which then decides which of them may write to a table. */
export function chooseNodeId({ catalog }: Config): string | undefined {
  return catalog.url === undefined ? undefined : randomUUID();
}

interface JoinParts {
  readonly catalog: Catalog;
  readonly telemetry: Telemetry;
  /** Absent on a single node. */
  readonly nodeId: string | undefined;
}

/** Joins the cluster. Both results are absent on a single node. */
export async function joinNodes(config: Config, { catalog, telemetry, nodeId }: JoinParts) {
  if (nodeId === undefined) return { membership: undefined, leases: undefined };
  const leases = new TableLeases(catalog, nodeId, telemetry);
  const { url: address, leaseSeconds } = config.node;
  const node = { id: nodeId, instance: await ensureInstance(config.data), name: nameOf(config), address };
  const membership = await Membership.join({ catalog, telemetry, ...node, release: readRelease(), leaseSeconds });
  membership.onLapse = () => leases.forget();
  return { membership, leases };
}

/** For people: the machine and the address that it listens on. */
function nameOf({ host, port }: Config): string {
  return `${hostname()} ${host}:${port}`;
}

interface ForwarderParts extends Pick<JoinParts, 'catalog' | 'nodeId'> {
  readonly leases: TableLeases | undefined;
  readonly writes: Writes;
  readonly metrics: Metrics;
  readonly tracer: RequestSpans | undefined;
}

/** Without an address of this node there can be no other nodes. */
export function openForwarder(
  { node, limits }: Config,
  { nodeId, leases, catalog, writes, metrics, tracer }: ForwarderParts,
): Forwarder | undefined {
  const { secret, leaseSeconds, forwardsMax } = node;
  if (nodeId === undefined || leases === undefined || secret === undefined) return undefined;
  return new Forwarder({
    catalog,
    locate: async (table, options) => writes.locate(table, options),
    hold: (table) => leases.hold(table.id),
    nodeId,
    secret,
    leaseSeconds,
    forwardsMax,
    limits,
    onAttempt: (outcome, milliseconds) => metrics.writeForwarded(outcome, milliseconds),
    traceparent: () => tracer?.traceparent(),
  });
}

interface NodeParts {
  readonly membership: Membership | undefined;
  readonly forwarder: Forwarder | undefined;
  readonly catalog: Catalog;
  readonly engine: Pick<Engine, 'releaseAllReaders'>;
  readonly writes: Writes;
}

/** Connects the heartbeats with parts that are opened after the node has joined. */
export function connectMembership({ membership, forwarder, catalog, engine, writes }: NodeParts): void {
  if (membership === undefined) return;
  const { onLapse } = membership;
  membership.onLapse = () => {
    onLapse();
    // The catalog decides which versions readers are held at; for a table that was taken over, this node no longer
    // does.
    engine.releaseAllReaders();
  };
  membership.countForwards = () => forwarder?.running ?? 0;
  membership.onSweep = async () => sweepReservations({ catalog, writes });
}

/** Only once this node serves: other nodes forward the writes of a table to the node that has taken it over. */
export function takeAbandoned({
  membership,
  catalog,
  writes,
}: Pick<NodeParts, 'membership' | 'catalog' | 'writes'>): void {
  if (membership === undefined) return;
  membership.onAbandoned = async (tableId) => {
    const table = await catalog.tables.findById(tableId);
    if (table !== undefined) await writes.locate(table);
  };
}

/** The nodes as operators see them; on a single node, only this one. */
export function openNodeList(
  config: Config,
  { nodeId, catalog, forwarder }: Pick<JoinParts, 'nodeId'> & Pick<NodeParts, 'catalog' | 'forwarder'>,
): NodeList {
  if (nodeId === undefined) return listOneNode(config);
  return {
    ownId: nodeId,
    // The forwards of this node are current; those of others are as of their last heartbeat.
    list: async () =>
      (await catalog.nodes.list()).map((node) =>
        node.id === nodeId ? { ...node, forwards: forwarder?.running ?? 0 } : node,
      ),
    listTakeovers: async (limit) => catalog.leases.listTakeovers(limit),
  };
}

function listOneNode(config: Config): NodeList {
  const node: NodeRecord = {
    id: randomUUID(),
    name: nameOf(config),
    address: undefined,
    release: readRelease(),
    startedAt: Date.now(),
    isAlive: true,
    leases: 0,
    forwards: 0,
  };
  return { ownId: node.id, list: async () => [node], listTakeovers: async () => [] };
}
