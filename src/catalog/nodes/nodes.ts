import { ServiceError } from '../../errors/service-error.ts';
import type { CatalogContext } from '../context.ts';
import type { NodeRow } from '../schema/rows.ts';
import type { Sql } from '../store.ts';
import type { LeaseHolder } from './leases.ts';

/** A node as others see it. */
export interface NodeRecord {
  readonly id: string;
  readonly name: string;
  readonly address: string | undefined;
  readonly startedAt: number;
  /** It has reported within its lease time. */
  readonly isAlive: boolean;
  /** Tables that it may write. */
  readonly leases: number;
}

interface NewNode extends Pick<NodeRow, 'id' | 'instance' | 'name'> {
  readonly address: string | undefined;
  readonly leaseMilliseconds: number;
}

/** The processes that serve the catalog. Their time is that of the database, so that their own clocks do not matter. */
export function createNodeStore({ read, append, clock, now, nodeId = '' }: CatalogContext) {
  const alive = (milliseconds: number) => clock.plus(milliseconds);
  return {
    /** Refuses beside a node that other nodes cannot reach, and without an address beside any other. */
    async join({ id, instance, name, address, leaseMilliseconds }: NewNode): Promise<void> {
      await append(async (sql) => {
        // The process before this one has ended: nothing has to wait for its lease.
        await sql.updateTable('nodes').set({ aliveUntil: 0 }).where('instance', '=', instance).execute();
        const others = await sql.selectFrom('nodes').selectAll().where('aliveUntil', '>', clock.value).execute();
        const unreachable = others.find((other) => address === undefined || other.address === null);
        if (unreachable !== undefined) throw servedByAnother(unreachable);
        await deleteForgotten(sql, clock);
        const aliveUntil = alive(leaseMilliseconds);
        await sql
          .insertInto('nodes')
          .values({ id, instance, name, address: address ?? null, startedAt: now(), aliveUntil })
          .onConflict((conflict) => conflict.column('id').doUpdateSet({ aliveUntil }))
          .execute();
      });
    },

    /** False when the node is not known: it was away for so long that it was forgotten. */
    async extend(id: string, leaseMilliseconds: number): Promise<boolean> {
      const updated = await append(async (sql) =>
        sql
          .updateTable('nodes')
          .set({ aliveUntil: alive(leaseMilliseconds) })
          .where('id', '=', id)
          .executeTakeFirst(),
      );
      return updated.numUpdatedRows === 1n;
    },

    /** Its tables are free at once. */
    async leave(id: string): Promise<void> {
      await append(async (sql) => {
        await sql.updateTable('leases').set({ nodeId: null }).where('nodeId', '=', id).execute();
        await sql.deleteFrom('nodes').where('id', '=', id).execute();
      });
    },

    /** A node that is alive and can be reached, apart from this one. */
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

    async list(): Promise<readonly NodeRecord[]> {
      const rows = await read(async (sql) =>
        sql
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
          .execute(),
      );
      return rows.map(({ id, name, address, startedAt, aliveUntil, clock: time, leases }) => {
        return { id, name, address: address ?? undefined, startedAt, isAlive: aliveUntil > time, leases: leases ?? 0 };
      });
    },
  };
}

/** Nodes that ended are shown for so long. */
const FORGOTTEN_MILLISECONDS = 3600 * 1000;

async function deleteForgotten(sql: Sql, clock: CatalogContext['clock']): Promise<void> {
  await sql.deleteFrom('nodes').where('aliveUntil', '<', clock.plus(-FORGOTTEN_MILLISECONDS)).execute();
}

function servedByAnother({ name, address }: NodeRow): ServiceError {
  const where = address === null ? name : `${name} at ${address}`;
  return new ServiceError('ServiceUnavailable', `The catalog is served by another node: ${where}.`, {
    hint: 'Stop it, or set node.url and node.secret on every node: then they serve together.',
  });
}
