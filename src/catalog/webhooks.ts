import { ServiceError } from '../errors/service-error.ts';
import type { NamespacePath, TablePath } from '../model/identifier.ts';
import type { CatalogContext } from './context.ts';
import { createId } from './ids.ts';
import type { WebhookRow } from './schema/rows.ts';

/** The commits of its database that a webhook is notified of; all if nothing is named. */
export interface WebhookScope {
  readonly table?: TablePath;
  readonly namespace?: NamespacePath;
  readonly operations?: readonly string[];
}

export interface WebhookRecord extends Omit<WebhookRow, 'scope'> {
  readonly scope: WebhookScope;
}

/** What changes with each attempt. */
export type WebhookProgress = Partial<
  Pick<
    WebhookRow,
    | 'state'
    | 'cursor'
    | 'failures'
    | 'failingSince'
    | 'nextAttemptAt'
    | 'attemptedAt'
    | 'deliveredAt'
    | 'deliveredEvents'
    | 'lastStatus'
    | 'lastError'
  >
>;

interface NewWebhook extends Pick<WebhookRow, 'databaseId' | 'url' | 'secret' | 'createdBy' | 'cursor'> {
  readonly scope: WebhookScope;
}

const HEALTHY = { failures: 0, failingSince: null, nextAttemptAt: 0, lastError: null };

type WebhookChanges = Pick<NewWebhook, 'url' | 'scope' | 'createdBy'>;

/** More are handled in the next round. */
const DUE_MAX = 1000;

/** A webhook belongs to the node that delivers for it, while that node is alive. */
export function createWebhookStore(context: CatalogContext) {
  const { read, append, now } = context;
  return {
    ...createDeliveries(context),
    async create({ scope, ...webhook }: NewWebhook, perDatabaseMax: number): Promise<WebhookRecord> {
      const row: WebhookRow = {
        id: createId(now()),
        ...webhook,
        scope: JSON.stringify(scope),
        state: 'active',
        createdAt: now(),
        nodeId: '',
        ...HEALTHY,
        attemptedAt: null,
        deliveredAt: null,
        deliveredEvents: 0,
        lastStatus: null,
      };
      await append(async (sql) => {
        const present = sql.selectFrom('webhooks').where('databaseId', '=', webhook.databaseId);
        const { count } = await present.select(({ fn }) => fn.countAll().as('count')).executeTakeFirstOrThrow();
        if (Number(count) >= perDatabaseMax) throw tooMany(perDatabaseMax);
        await sql.insertInto('webhooks').values(row).execute();
      });
      return toRecord(row);
    },

    async find(id: string): Promise<WebhookRecord | undefined> {
      const row = await read(async (sql) =>
        sql.selectFrom('webhooks').selectAll().where('id', '=', id).executeTakeFirst(),
      );
      return row && toRecord(row);
    },

    /** Oldest first. */
    async list({ databaseId, after = '', limit }: { databaseId: string; after?: string | undefined; limit: number }) {
      const rows = await read(async (sql) =>
        sql
          .selectFrom('webhooks')
          .selectAll()
          .where('databaseId', '=', databaseId)
          .where('id', '>', after)
          .orderBy('id')
          .limit(limit)
          .execute(),
      );
      return rows.map(toRecord);
    },

    async remove(id: string): Promise<void> {
      await append(async (sql) => sql.deleteFrom('webhooks').where('id', '=', id).execute());
    },

    async update(id: string, { scope, ...changes }: WebhookChanges): Promise<void> {
      const columns = { ...changes, scope: JSON.stringify(scope) };
      await append(async (sql) => sql.updateTable('webhooks').set(columns).where('id', '=', id).execute());
    },

    /** Stops deliveries until it is resumed. */
    async disable(id: string): Promise<void> {
      await append(async (sql) =>
        sql.updateTable('webhooks').set({ state: 'disabled' }).where('id', '=', id).execute(),
      );
    },

    /** Continues deliveries where they stopped. */
    async resume({ id, createdBy }: Pick<WebhookRecord, 'id' | 'createdBy'>): Promise<void> {
      const changes = { ...HEALTHY, state: 'active', createdBy } as const;
      await append(async (sql) => sql.updateTable('webhooks').set(changes).where('id', '=', id).execute());
    },

    /** Commits of the database after its cursor, counted up to `max`. */
    async backlog({ databaseId, cursor }: Pick<WebhookRecord, 'databaseId' | 'cursor'>, max: number): Promise<number> {
      const rows = await read(async (sql) =>
        sql
          .selectFrom('transactions')
          .select('id')
          .where('databaseId', '=', databaseId)
          .where('id', '>', cursor)
          .orderBy('id')
          .limit(max)
          .execute(),
      );
      return rows.length;
    },
  };
}

/** What the delivering node needs. */
function createDeliveries({ read, append, clock, nodeId: ownId = '', now }: CatalogContext) {
  return {
    /**
     * Active webhooks with commits after their cursor whose next attempt is due, and that this node delivers for or may
     * take over.
     */
    async listDue(): Promise<readonly WebhookRecord[]> {
      const rows = await read(async (sql) =>
        sql
          .selectFrom('webhooks')
          .leftJoin('nodes', 'nodes.id', 'webhooks.nodeId')
          .selectAll('webhooks')
          .where('webhooks.state', '=', 'active')
          .where('webhooks.nextAttemptAt', '<=', now())
          .where((where) =>
            where.exists(
              where
                .selectFrom('transactions')
                .select('transactions.id')
                .whereRef('transactions.databaseId', '=', 'webhooks.databaseId')
                .whereRef('transactions.id', '>', 'webhooks.cursor'),
            ),
          )
          .where((where) =>
            where.or([
              where('webhooks.nodeId', 'in', ['', ownId]),
              where('nodes.id', 'is', null),
              where('nodes.aliveUntil', '<=', clock.value),
            ]),
          )
          .orderBy('webhooks.attemptedAt', (order) => order.nullsFirst())
          .limit(DUE_MAX)
          .execute(),
      );
      return rows.map(toRecord);
    },

    /** Whether this node now delivers for it. Of several that ask, one does. */
    async claim({ id, nodeId }: Pick<WebhookRecord, 'id' | 'nodeId'>): Promise<boolean> {
      if (nodeId === ownId) return true;
      return append(async (sql) => {
        const { numUpdatedRows } = await sql
          .updateTable('webhooks')
          .set({ nodeId: ownId })
          .where('id', '=', id)
          .where('nodeId', '=', nodeId)
          .executeTakeFirst();
        return numUpdatedRows === 1n;
      });
    },

    /** False if it was deleted, or another node delivers for it by now. */
    async progress(id: string, changes: WebhookProgress): Promise<boolean> {
      return append(async (sql) => {
        const own = sql.updateTable('webhooks').set(changes).where('id', '=', id).where('nodeId', '=', ownId);
        return (await own.executeTakeFirst()).numUpdatedRows === 1n;
      });
    },

    /** Disables it, unless another caller has taken it over meanwhile. */
    async disown({ id, createdBy }: WebhookRecord, lastError: string): Promise<boolean> {
      return append(async (sql) => {
        const own = sql.updateTable('webhooks').where('id', '=', id).where('nodeId', '=', ownId);
        const orphan = own.where('createdBy', '=', createdBy).set({ state: 'disabled', lastError });
        return (await orphan.executeTakeFirst()).numUpdatedRows === 1n;
      });
    },

    /** Lets other nodes deliver for the webhooks of this one. */
    async releaseAll(): Promise<void> {
      await append(async (sql) =>
        sql.updateTable('webhooks').set({ nodeId: '' }).where('nodeId', '=', ownId).execute(),
      );
    },
  };
}

function toRecord({ scope, ...row }: WebhookRow): WebhookRecord {
  return { ...row, scope: JSON.parse(scope) };
}

function tooMany(max: number): ServiceError {
  return new ServiceError('QuotaExceeded', `The database already has ${max} webhooks, the maximum.`, {
    hint: 'Delete one, or ask an operator to raise webhooks.perDatabaseMax.',
  });
}
