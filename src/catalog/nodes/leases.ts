import { NotOwner, ServiceError } from '../../errors/service-error.ts';
import type { TablePath } from '../../model/identifier.ts';
import type { CatalogContext } from '../context.ts';
import { runHot } from '../journal/hot-statements.ts';
import { toTablePath } from '../path-text.ts';
import type { LeaseRow } from '../schema/rows.ts';
import type { Sql } from '../store.ts';

/** The node that may write to a table. */
export interface LeaseHolder {
  readonly nodeId: string;
  readonly address: string | undefined;
}

interface TakenFrom {
  /** For a takeover: the previous holder, which was silent for too long. */
  readonly takenFrom: string;
}

export interface Takeover extends TakenFrom {
  readonly database: string;
  readonly path: TablePath;
  readonly nodeId: string | undefined;
  readonly epoch: number;
  /** Milliseconds since 1970. */
  readonly takenAt: number;
}

interface TakeOptions {
  /** Also takes it from a live node that has no pending write of the table. */
  readonly fromIdle?: boolean;
}

export type Lease =
  /** `hasPending`: an earlier holder left writes whose outcome must be resolved first. */
  | ({ readonly kind: 'ours'; readonly epoch: number; readonly hasPending: boolean } & Partial<TakenFrom>)
  | ({ readonly kind: 'held' } & LeaseHolder);

/** Which node writes which table. A lease lasts until it is released, or its holder has been silent for too long. */
export function createLeaseStore({ read, append, clock, nodeId: ownId = '', now }: CatalogContext) {
  return {
    /** Takes the lease unless a live node has it. With `fromIdle`, also from a live node without pending writes. */
    async take(tableId: string, { fromIdle = false }: TakeOptions = {}): Promise<Lease> {
      return append(async (sql) => {
        const row = await findLease(sql, tableId, clock);
        const isHeld = row !== undefined && row.nodeId !== null && row.isAlive === 1 && row.nodeId !== ownId;
        if (isHeld && !(fromIdle && (await isIdle(sql, tableId)))) {
          return { kind: 'held', nodeId: row.nodeId ?? '', address: row.address ?? undefined };
        }
        const isOurs = row?.nodeId === ownId;
        const epoch = isOurs ? row.epoch : (row?.epoch ?? 0) + 1;
        const takenFrom = isOurs || isHeld ? null : (row?.nodeId ?? null);
        if (!isOurs) await writeLease(sql, { tableId, nodeId: ownId, epoch, takenAt: now(), takenFrom });
        const pending = sql.selectFrom('journal').select('id').where('tableId', '=', tableId);
        const first = await pending.where('state', '=', 'pending').where('epoch', '<', epoch).executeTakeFirst();
        const lease = { kind: 'ours', epoch, hasPending: first !== undefined } as const;
        return takenFrom === null ? lease : { ...lease, takenFrom };
      });
    },

    /** The holder, if it is alive. */
    async find(tableId: string): Promise<LeaseHolder | undefined> {
      const row = await read(async (sql) => findLease(sql, tableId, clock));
      if (row === undefined || row.nodeId === null || row.isAlive === 0) return undefined;
      return { nodeId: row.nodeId, address: row.address ?? undefined };
    },

    /** Lets other nodes take the tables of this one, except the given ones. */
    async releaseAll(kept: readonly string[] = []): Promise<void> {
      await append(async (sql) => {
        const release = sql.updateTable('leases').set({ nodeId: null }).where('nodeId', '=', ownId);
        await (kept.length === 0 ? release : release.where('tableId', 'not in', kept)).execute();
      });
    },

    mayPreviousHolderRun: async (tableId: string) => read(async (sql) => mayPreviousHolderRun(sql, tableId)),

    /** Tables with pending writes and no live holder. */
    async listAbandoned(limit: number): Promise<readonly string[]> {
      const rows = await read(async (sql) =>
        sql
          .selectFrom('leases')
          .leftJoin('nodes', 'nodes.id', 'leases.nodeId')
          .select('leases.tableId')
          .where((where) =>
            where.exists(
              where
                .selectFrom('journal')
                .select('journal.id')
                .whereRef('journal.tableId', '=', 'leases.tableId')
                .where('journal.state', '=', 'pending'),
            ),
          )
          .where((where) => where.or([where('nodes.id', 'is', null), where('nodes.aliveUntil', '<=', clock.value)]))
          .limit(limit)
          .execute(),
      );
      return rows.map(({ tableId }) => tableId);
    },

    /** The last takeover of each table, newest first. */
    async listTakeovers(limit: number): Promise<readonly Takeover[]> {
      const rows = await read(async (sql) =>
        sql
          .selectFrom('leases')
          .innerJoin('tables', 'tables.id', 'leases.tableId')
          .innerJoin('databases', 'databases.id', 'tables.databaseId')
          .select(['databases.name as database', 'tables.path', 'leases.nodeId', 'leases.takenFrom'])
          .select(['leases.epoch', 'leases.takenAt'])
          .where('leases.takenFrom', 'is not', null)
          .orderBy('leases.takenAt', 'desc')
          .limit(limit)
          .execute(),
      );
      return rows.map(({ database, path, nodeId, takenFrom, epoch, takenAt }) => ({
        database,
        path: toTablePath(path),
        nodeId: nodeId ?? undefined,
        takenFrom: takenFrom ?? '',
        epoch,
        takenAt,
      }));
    },
  };
}

/**
 * Whether no write of the table is pending. After a change of epoch, or once the table is gone, its owner's next
 * `begin` is refused.
 */
export async function isIdle(sql: Sql, tableId: string): Promise<boolean> {
  const pending = sql.selectFrom('journal').select('id').where('tableId', '=', tableId);
  return (await pending.where('state', '=', 'pending').executeTakeFirst()) === undefined;
}

/** Whether the previous holder may still be running: it has neither left nor been replaced. */
async function mayPreviousHolderRun(sql: Sql, tableId: string): Promise<boolean> {
  const former = await sql
    .selectFrom('leases')
    .innerJoin('nodes', 'nodes.id', 'leases.takenFrom')
    .select('nodes.id')
    .where('leases.tableId', '=', tableId)
    .executeTakeFirst();
  return former !== undefined;
}

async function findLease(sql: Sql, tableId: string, clock: CatalogContext['clock']) {
  return sql
    .selectFrom('leases')
    .leftJoin('nodes', 'nodes.id', 'leases.nodeId')
    .select(['leases.nodeId', 'leases.epoch', 'nodes.address'])
    .select((where) => where.case().when('nodes.aliveUntil', '>', clock.value).then(1).else(0).end().as('isAlive'))
    .where('leases.tableId', '=', tableId)
    .executeTakeFirst();
}

async function writeLease(sql: Sql, { tableId, ...lease }: LeaseRow): Promise<void> {
  await sql
    .insertInto('leases')
    .values({ tableId, ...lease })
    .onConflict((conflict) => conflict.column('tableId').doUpdateSet(lease))
    .execute();
}

/**
 * Runs inside the transaction of a write: refuses if the table is gone, or another node may write to it by now. Without
 * a node id, only this process writes.
 */
export async function requireLease(
  sql: Sql,
  tableId: string,
  nodeId: string | undefined,
  epoch: number | undefined,
): Promise<void> {
  const [table] = await runHot(sql, {
    key: 'select lease',
    compile: () =>
      sql
        .selectFrom('tables')
        .leftJoin('leases', 'leases.tableId', 'tables.id')
        .select(['leases.nodeId as holder', 'leases.epoch as epoch'])
        .where('tables.id', '=', tableId)
        .compile(),
    values: [tableId],
    isOneRow: true,
  });
  if (table === undefined) throw new ServiceError('TableNotFound', 'The table no longer exists.');
  if (nodeId === undefined) return;
  if (table.holder !== nodeId || (epoch !== undefined && table.epoch !== epoch)) throw new NotOwner();
}

export async function deleteLease(sql: Sql, tableId: string): Promise<void> {
  await sql.deleteFrom('leases').where('tableId', '=', tableId).execute();
}
