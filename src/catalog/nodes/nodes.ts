import { CopiedFolder, ServiceError } from '../../errors/service-error.ts';
import type { CatalogContext } from '../context.ts';
import type { NodeRow } from '../schema/rows.ts';
import { STORAGE_ROOT } from '../storage-roots.ts';
import type { Sql } from '../store.ts';
import type { LeaseHolder } from './leases.ts';

/** A node as other nodes see it. */
export interface NodeRecord {
  readonly id: string;
  readonly name: string;
  readonly address: string | undefined;
  /** The version of the server. */
  readonly release: string;
  readonly startedAt: number;
  /** Whether it has reported within its lease time. */
  readonly isAlive: boolean;
  /** Tables that it may write to. */
  readonly leases: number;
  /** Writes that it was forwarding to other nodes at its last heartbeat. */
  readonly forwards: number;
}

export interface NodeCounts {
  readonly alive: number;
  /** Ended without leaving, not long ago, and not restarted. */
  readonly silent: number;
}

interface NewNode extends Pick<NodeRow, 'id' | 'instance' | 'name' | 'release'> {
  readonly address: string | undefined;
  readonly leaseMilliseconds: number;
  /** It was registered before, but was forgotten. */
  readonly isKnown?: boolean;
}

/** The processes that serve the catalog. Times come from the database, so their own clocks do not matter. */
export function createNodeStore({ read, append, clock, now, roots, nodeId = '' }: CatalogContext) {
  const storageRoot = roots.fromStored(STORAGE_ROOT);
  const aliveFor = (milliseconds: number) => clock.plus(milliseconds);
  return {
    /**
     * Refuses to join next to a node that other nodes cannot reach; without an address, next to any other node; and
     * next to nodes with another storage root, because each would look for the other's tables in the wrong place. Also
     * refuses next to a node with a copy of this data folder: each would take the other for its previous process.
     */
    async join({ id, instance, name, address, release, leaseMilliseconds, isKnown = false }: NewNode): Promise<void> {
      await append(async (sql) => {
        const alive = await sql.selectFrom('nodes').selectAll().where('aliveUntil', '>', clock.value).execute();
        const former = alive.find((other) => other.instance === instance);
        const isElsewhere = former?.name !== name || former.address !== (address ?? null);
        if (former !== undefined && (isKnown || isElsewhere)) throw new CopiedFolder(whereIs(former));
        // The previous process has ended, so nothing needs to wait for its lease.
        await sql.deleteFrom('nodes').where('instance', '=', instance).execute();
        const others = alive.filter((other) => other !== former);
        const unreachable = others.find((other) => address === undefined || other.address === null);
        if (unreachable !== undefined) throw servedByAnother(unreachable);
        const elsewhere = others.find((other) => other.storageRoot !== storageRoot);
        if (elsewhere !== undefined) throw anotherRoot(storageRoot, elsewhere);
        await deleteForgotten(sql, clock);
        const aliveUntil = aliveFor(leaseMilliseconds);
        const times = { startedAt: now(), aliveUntil };
        await sql
          .insertInto('nodes')
          .values({ id, instance, name, address: address ?? null, release, storageRoot, ...times, forwards: 0 })
          .execute();
      });
    },

    /** False if the node is unknown: it was away for so long that it was forgotten. */
    async extend(id: string, leaseMilliseconds: number, forwards = 0): Promise<boolean> {
      const updated = await append(async (sql) =>
        sql
          .updateTable('nodes')
          .set({ aliveUntil: aliveFor(leaseMilliseconds), forwards })
          .where('id', '=', id)
          .executeTakeFirst(),
      );
      return updated.numUpdatedRows === 1n;
    },

    /** Releases its tables at once. */
    async leave(id: string): Promise<void> {
      await append(async (sql) => {
        await sql.updateTable('leases').set({ nodeId: null }).where('nodeId', '=', id).execute();
        await sql.deleteFrom('nodes').where('id', '=', id).execute();
      });
    },

    async isAlive(id: string): Promise<boolean> {
      const row = await read(async (sql) =>
        sql
          .selectFrom('nodes')
          .select('id')
          .where('id', '=', id)
          .where('aliveUntil', '>', clock.value)
          .executeTakeFirst(),
      );
      return row !== undefined;
    },

    /** Another node that is alive and reachable. */
    async findOther(): Promise<LeaseHolder | undefined> {
      const row = await read(async (sql) =>
        sql
          .selectFrom('nodes')
          .select(['id', 'address'])
          .where('aliveUntil', '>', clock.value)
          .where('id', '!=', nodeId)
          .where('address', 'is not', null)
          .orderBy('startedAt', 'desc')
          .executeTakeFirst(),
      );
      return row && { nodeId: row.id, address: row.address ?? undefined };
    },

    list: async () => read(async (sql) => listNodes(sql, clock)),
    count: async () => read(async (sql) => countNodes(sql, clock)),
  };
}

const LISTED_MAX = 1000;

async function listNodes(sql: Sql, clock: CatalogContext['clock']): Promise<readonly NodeRecord[]> {
  const rows = await sql
    .selectFrom('nodes')
    .selectAll()
    .select((nodes) => [
      clock.value.as('clock'),
      nodes
        .selectFrom('leases')
        .select(({ fn }) => fn.countAll<number>().as('count'))
        .whereRef('leases.nodeId', '=', 'nodes.id')
        .as('leases'),
    ])
    .orderBy('startedAt')
    .limit(LISTED_MAX)
    .execute();
  return rows.map(({ id, name, address, release, startedAt, forwards, aliveUntil, clock: time, leases }) => {
    const isAlive = aliveUntil > time;
    const counts = { leases: leases ?? 0, forwards: isAlive ? forwards : 0 };
    return { id, name, address: address ?? undefined, release, startedAt, isAlive, ...counts };
  });
}

async function countNodes(sql: Sql, clock: CatalogContext['clock']): Promise<NodeCounts> {
  const nodes = await sql
    .selectFrom('nodes')
    .select(['aliveUntil', clock.value.as('clock')])
    .limit(LISTED_MAX)
    .execute();
  const alive = nodes.filter(({ aliveUntil, clock: time }) => aliveUntil > time).length;
  return { alive, silent: nodes.length - alive };
}

/** How long ended nodes are shown. */
const FORGOTTEN_MILLISECONDS = 3600 * 1000;

async function deleteForgotten(sql: Sql, clock: CatalogContext['clock']): Promise<void> {
  await sql.deleteFrom('nodes').where('aliveUntil', '<', clock.plus(-FORGOTTEN_MILLISECONDS)).execute();
}

function servedByAnother(other: NodeRow): ServiceError {
  return new ServiceError('ServiceUnavailable', `Another node uses this catalog: ${whereIs(other)}.`, {
    hint: 'Stop it, or set node.url and node.secret on every node to run a cluster.',
  });
}

function whereIs({ name, address }: NodeRow): string {
  return address === null ? name : `${name} at ${address}`;
}

function anotherRoot(ours: string, { name, storageRoot }: NodeRow): ServiceError {
  const message = `All nodes of a catalog must have the same storage root: this node has ${ours}, ${name} has ${storageRoot}.`;
  return new ServiceError('ServiceUnavailable', message, {
    hint: 'Set storage.root to the same address on every node.',
  });
}
