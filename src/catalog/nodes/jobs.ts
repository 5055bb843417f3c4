import type { TablePath } from '../../model/identifier.ts';
import type { CatalogContext } from '../context.ts';
import { toPathText, toTablePath } from '../path-text.ts';
import type { JobRow } from '../schema/rows.ts';
import type { Sql } from '../store.ts';

export type JobState = JobRow['state'];

/** The subject of a job. */
export interface JobSubject {
  readonly kind: string;
  readonly databaseId: string;
  readonly table: TablePath;
  readonly tableId: string;
  readonly caller: string;
  /** The request, as a reply may show it. */
  readonly spec: Readonly<Record<string, unknown>>;
}

export interface JobRecord {
  readonly id: string;
  readonly subject: JobSubject;
  readonly state: JobState;
  /** The current phase, or the last one if the job has ended. */
  readonly phase: string;
  readonly isCancelRequested: boolean;
  readonly createdAt: number;
  readonly endedAt?: number;
  readonly result?: Readonly<Record<string, unknown>>;
  /** The message is for callers. */
  readonly failure?: { readonly phase: string; readonly message: string; readonly isRetryable: boolean };
}

/** A job in a list. */
export interface JobSummary extends Pick<JobRecord, 'id' | 'state' | 'createdAt'> {
  readonly subject: Pick<JobSubject, 'kind' | 'databaseId' | 'table'>;
}

/** A job that has not ended although its node has. */
interface Abandonable {
  readonly isAbandoned: boolean;
}

/** The jobs of all nodes: each node can show and cancel those of others, and continue some of them. */
export function createJobStore(context: CatalogContext) {
  const { read, append, clock, nodeId: ownId = '' } = context;
  return {
    ...createHandOver(context),
    /**
     * Saves the current state of a job of this node, unless another node has taken it over. When the job has ended,
     * removes the oldest ended jobs beyond `keptMax`; jobs of dead nodes count as ended unless their kind is in `resumed`.
     */
    async save(job: JobRecord, keptMax: number, resumed: readonly string[] = []): Promise<void> {
      const { state, phase, cancelRequested, endedAt, result, failure, ...constant } = toRow(job, ownId);
      // Keeps a cancellation that another node requested.
      const cancel = cancelRequested === 1 ? { cancelRequested } : {};
      const changes = { state, phase, endedAt, result, failure };
      await append(async (sql) => {
        await sql
          .insertInto('jobs')
          .values({ ...constant, ...changes, cancelRequested })
          .onConflict((conflict) =>
            conflict
              .column('id')
              .doUpdateSet({ ...changes, ...cancel })
              .where('jobs.nodeId', '=', ownId),
          )
          .execute();
        if (endedAt !== null) await prune(sql, { clock, keptMax, resumed, ownId });
      });
    },

    async find(id: string): Promise<(JobRecord & Abandonable) | undefined> {
      const row = await read(async (sql) =>
        selectJobs(sql, clock).selectAll('jobs').where('jobs.id', '=', id).executeTakeFirst(),
      );
      return row && { ...fromRow(row), isAbandoned: row.isAbandoned === 1 };
    },

    async list(databaseId: string): Promise<readonly (JobSummary & Abandonable)[]> {
      const rows = await read(async (sql) =>
        selectJobs(sql, clock)
          .select(['jobs.id', 'jobs.kind', 'jobs.tablePath', 'jobs.state', 'jobs.createdAt'])
          .where('databaseId', '=', databaseId)
          .execute(),
      );
      return rows.map(({ id, state, createdAt, kind, tablePath, isAbandoned }) => {
        const subject = { kind, databaseId, table: toTablePath(tablePath) };
        return { id, state, createdAt, subject, isAbandoned: isAbandoned === 1 };
      });
    },

    /** The job's node polls for it. A job that has ended stays as it is. */
    async requestCancel(id: string): Promise<void> {
      await append(async (sql) =>
        sql.updateTable('jobs').set({ cancelRequested: 1 }).where('id', '=', id).where('endedAt', 'is', null).execute(),
      );
    },

    /** Jobs of this node whose cancellation was requested on any node. */
    async listCancelRequested(): Promise<readonly string[]> {
      const rows = await read(async (sql) =>
        sql
          .selectFrom('jobs')
          .select('id')
          .where('nodeId', '=', ownId)
          .where('endedAt', 'is', null)
          .where('cancelRequested', '=', 1)
          .execute(),
      );
      return rows.map(({ id }) => id);
    },
  };
}

/** Hands jobs over from one process to another. */
function createHandOver({ read, append, clock, nodeId: ownId = '' }: CatalogContext) {
  return {
    /** Unfinished jobs of these kinds whose process has ended or released them; oldest first, one page at a time. */
    async listAbandoned(
      kinds: readonly string[],
      after: Pick<JobRecord, 'createdAt' | 'id'> = FIRST,
    ): Promise<readonly JobRecord[]> {
      const rows = await read(async (sql) =>
        selectJobs(sql, clock)
          .selectAll('jobs')
          .where('jobs.endedAt', 'is', null)
          .where('jobs.kind', 'in', kinds)
          .where((where) =>
            where.or([where('nodes.aliveUntil', 'is', null), where('nodes.aliveUntil', '<=', clock.value)]),
          )
          .where((where) =>
            where(where.refTuple('jobs.createdAt', 'jobs.id'), '>', where.tuple(after.createdAt, after.id)),
          )
          .orderBy('jobs.createdAt')
          .orderBy('jobs.id')
          .limit(ABANDONED_MAX)
          .execute(),
      );
      return rows.map(fromRow);
    },

    /** Takes the job over and returns its current state. Of several processes that ask, one gets it. */
    async claim({ id }: Pick<JobRecord, 'id'>): Promise<JobRecord | undefined> {
      return append(async (sql) => {
        const row = await selectJobs(sql, clock).selectAll('jobs').where('jobs.id', '=', id).executeTakeFirst();
        if (row === undefined || row.isAbandoned === 0) return undefined;
        const { numUpdatedRows } = await sql
          .updateTable('jobs')
          .set({ nodeId: ownId })
          .where('id', '=', id)
          .where('nodeId', '=', row.nodeId)
          .where('endedAt', 'is', null)
          .executeTakeFirst();
        return numUpdatedRows === 1n ? fromRow(row) : undefined;
      });
    },

    /** Lets another process continue a job of this one. */
    async release(id: string): Promise<void> {
      await append(async (sql) =>
        sql
          .updateTable('jobs')
          .set({ nodeId: '' })
          .where('id', '=', id)
          .where('nodeId', '=', ownId)
          .where('endedAt', 'is', null)
          .execute(),
      );
    },
  };
}

function selectJobs(sql: Sql, clock: CatalogContext['clock']) {
  return sql
    .selectFrom('jobs')
    .leftJoin('nodes', 'nodes.id', 'jobs.nodeId')
    .select((where) =>
      where
        .case()
        .when('jobs.endedAt', 'is not', null)
        .then(0)
        .when('nodes.aliveUntil', '>', clock.value)
        .then(0)
        .else(1)
        .end()
        .as('isAbandoned'),
    );
}

const ABANDONED_MAX = 100;
const FIRST = { createdAt: -1, id: '' };

/** The most jobs that one transaction removes; the next one continues. */
const PRUNED_MAX = 1000;

interface PruneOptions extends Pick<CatalogContext, 'clock'> {
  readonly keptMax: number;
  readonly resumed: readonly string[];
  readonly ownId: string;
}

/** Keeps unfinished jobs of this process, and jobs that wait for a process to continue them. */
async function prune(sql: Sql, { clock, keptMax, resumed, ownId }: PruneOptions): Promise<void> {
  const oldest = await sql
    .selectFrom('jobs')
    .leftJoin('nodes', 'nodes.id', 'jobs.nodeId')
    .select('jobs.id')
    .where((where) =>
      where.or([
        where('jobs.endedAt', 'is not', null),
        where.and([
          resumed.length === 0 ? where.lit(true) : where('jobs.kind', 'not in', resumed),
          where.or([
            where.and([where('nodes.id', 'is', null), where('jobs.nodeId', 'not in', ['', ownId])]),
            where('nodes.aliveUntil', '<=', clock.value),
          ]),
        ]),
      ]),
    )
    .orderBy('jobs.createdAt', 'desc')
    .orderBy('jobs.id', 'desc')
    .limit(PRUNED_MAX)
    .offset(keptMax)
    .execute();
  if (oldest.length === 0) return;
  const ids = oldest.map(({ id }) => id);
  await sql.deleteFrom('jobs').where('id', 'in', ids).execute();
}

function toRow({ id, subject, ...job }: JobRecord, nodeId: string): JobRow {
  return {
    id,
    nodeId,
    databaseId: subject.databaseId,
    tableId: subject.tableId,
    tablePath: toPathText(subject.table),
    kind: subject.kind,
    caller: subject.caller,
    spec: JSON.stringify(subject.spec),
    state: job.state,
    phase: job.phase,
    cancelRequested: job.isCancelRequested ? 1 : 0,
    createdAt: job.createdAt,
    endedAt: job.endedAt ?? null,
    result: job.result === undefined ? null : JSON.stringify(job.result),
    failure: job.failure === undefined ? null : JSON.stringify(job.failure),
  };
}

function fromRow({ id, databaseId, tableId, tablePath, kind, caller, spec, ...row }: JobRow): JobRecord {
  return {
    id,
    subject: { kind, databaseId, table: toTablePath(tablePath), tableId, caller, spec: JSON.parse(spec) },
    state: row.state,
    phase: row.phase,
    isCancelRequested: row.cancelRequested === 1,
    createdAt: row.createdAt,
    ...(row.endedAt === null ? {} : { endedAt: row.endedAt }),
    ...(row.result === null ? {} : { result: JSON.parse(row.result) }),
    ...(row.failure === null ? {} : { failure: JSON.parse(row.failure) }),
  };
}
