import type { Catalog } from '../catalog/catalog.ts';
import type { Engine } from '../engine/engine.ts';
import { guardSql } from '../guard/sql/guard-sql.ts';
import type { EnterPhase, Job, Jobs, NewJob, StartedJob } from '../jobs/jobs.ts';
import type { EngineLimits, SqlLimits } from '../model/limits.ts';
import type { GuardedSql } from '../model/query.ts';
import { MAIN_BRANCH, branchKey } from '../model/table.ts';
import type { TableRecord } from '../model/table.ts';
import type { SizeQuotas, SizedWrite } from '../quotas/size-quotas.ts';
import type { Writes } from '../writes/writes.ts';
import { beginOwnSized, requireOwnSuccess, toOwnRequest } from './own-write.ts';
import { openTableJobs } from './table-jobs.ts';

export interface BackfillsParts {
  readonly engine: Engine;
  readonly catalog: Pick<Catalog, 'tables' | 'quotas'>;
  readonly writes: Writes;
  readonly jobs: Jobs;
  readonly sizeQuotas: Pick<SizeQuotas, 'begin' | 'refresh'>;
  readonly limits: { readonly engine: Pick<EngineLimits, 'backfillBytes'>; readonly sql: SqlLimits };
}

/** What a backfill was asked to do. */
export interface BackfillRequest {
  readonly table: TableRecord;
  readonly column: string;
  readonly where: string | undefined;
  readonly branch: string | undefined;
  readonly caller: string;
  readonly requestId: string;
}

export interface Backfilled {
  readonly rows_filled: number;
  readonly version: number;
  readonly [field: string]: unknown;
}

type OpenRows = Awaited<ReturnType<Engine['computed']['countOpen']>>;

const KIND = 'backfill_column';

/**
 * Fills computed columns in rows that existed before the columns. Each step is a normal write, so other writes run in
 * between, and after a restart only the remaining rows are filled.
 */
export class Backfills {
  readonly #parts: BackfillsParts;
  readonly #startJob: (request: BackfillRequest) => StartedJob<Backfilled>;
  /** Columns with a running backfill, which has reserved its quota. */
  readonly #running = new Set<string>();

  constructor(parts: BackfillsParts) {
    this.#parts = parts;
    const run = async (request: BackfillRequest, enter: EnterPhase) => this.#run(request, enter);
    this.#startJob = openTableJobs(parts, { kind: KIND, toSubject, readRequest, run });
  }

  /** Refuses what is not possible, and what exceeds a quota; texts and lists may turn out to need more. */
  async start(request: BackfillRequest): Promise<StartedJob<Backfilled>> {
    const { table, column, branch } = request;
    const where = this.#guard(request);
    await this.#parts.engine.computed.check({ location: table.location, branch }, { column, where });
    if (!this.#running.has(toSubject(request).exclusiveKey)) {
      const sized = await this.#beginSized(request);
      try {
        if (sized !== undefined) await this.#admitOpen(request, sized);
      } finally {
        // The job makes its own reservation, because it may run long after this request.
        await sized?.end();
      }
    }
    return this.#startJob(request);
  }

  async #run(request: BackfillRequest, enter: EnterPhase): Promise<Backfilled> {
    const { exclusiveKey } = toSubject(request);
    await enter('counting rows');
    const sized = await this.#beginSized(request);
    this.#running.add(exclusiveKey);
    try {
      return await this.#fill(request, enter, await this.#admitOpen(request, sized));
    } finally {
      // A size that cannot be measured now is measured after the next write.
      await (sized?.end() ?? this.#parts.sizeQuotas.refresh(request.table).catch(() => {}));
      this.#running.delete(exclusiveKey);
    }
  }

  /** Branches do not count towards quotas. */
  async #beginSized({ table, branch = MAIN_BRANCH, caller }: BackfillRequest): Promise<SizedWrite | undefined> {
    return branch === MAIN_BRANCH ? beginOwnSized(table, caller, this.#parts) : undefined;
  }

  /** Reserves the minimum size of the rows to fill. */
  async #admitOpen(request: BackfillRequest, sized: SizedWrite | undefined): Promise<OpenRows> {
    const { table, column, branch } = request;
    const where = this.#guard(request);
    const open = await this.#parts.engine.computed.countOpen({ location: table.location, branch }, { column, where });
    if (open.rows > 0) await sized?.admit({ rows: 0, bytes: Math.max(1, open.bytes) });
    return open;
  }

  async #fill(request: BackfillRequest, enter: EnterPhase, open: OpenRows): Promise<Backfilled> {
    const { engine, limits } = this.#parts;
    const { column } = request;
    const where = this.#guard(request);
    const { backfillBytes: bytesMax } = limits.engine;
    let rows = 0;
    for (let fromAddress = 0n; ;) {
      // Writers outside the service may have added rows.
      await enter(`filled ${rows} of ${Math.max(open.rows, rows)} rows`);
      const plan = engine.commits.fillComputed({ column, where, fromAddress, bytesMax });
      const { fields, version } = await this.#write(request, plan);
      const filled = Number(fields['rows_filled'] ?? 0);
      // Compaction may have moved rows past the end of the last step.
      if (filled === 0 && fromAddress === 0n) return toResult(rows, open.version, version);
      rows += filled;
      const next = fields['next_address'];
      fromAddress = filled === 0 || typeof next !== 'string' ? 0n : BigInt(next);
    }
  }

  async #write(
    { table, branch, caller, requestId }: BackfillRequest,
    plan: ReturnType<Engine['commits']['fillComputed']>,
  ) {
    const { writes } = this.#parts;
    const result = await writes.run({
      request: toOwnRequest({ operation: KIND, caller, requestId }),
      table,
      branch,
      recordedAs: KIND,
      plan,
      rule: { from: 'added-rows', names: ['rows_filled'] },
      toFields: ({ rowsFilled, nextAddress }) => ({ rows_filled: rowsFilled, next_address: nextAddress }),
    });
    return requireOwnSuccess(writes, result);
  }

  #guard({ where }: BackfillRequest): GuardedSql | undefined {
    return where === undefined
      ? undefined
      : guardSql(where, { name: 'filter', field: 'where' }, this.#parts.limits.sql);
  }
}

/** LanceDB clients read the fields after the first two. A backfill that cannot compute a row fails as a whole. */
function toResult(rows: number, sourceVersion: number, version: number): Backfilled {
  return {
    rows_filled: rows,
    version,
    rows_assigned: rows,
    rows_failed: 0,
    rows_remaining: 0,
    source_version: sourceVersion,
    published_version: version,
  };
}

function readRequest(table: TableRecord, { subject, id }: Job): BackfillRequest {
  const { column, where, branch } = subject.spec;
  return {
    table,
    column: String(column),
    where: typeof where === 'string' ? where : undefined,
    branch: typeof branch === 'string' ? branch : undefined,
    caller: subject.caller,
    requestId: id,
  };
}

function toSubject({ table, column, where, branch, caller, requestId }: BackfillRequest): NewJob {
  const place = branchKey(table.location, branch);
  return {
    kind: KIND,
    isResumable: true,
    databaseId: table.databaseId,
    table: table.path,
    tableId: table.id,
    caller,
    exclusiveKey: `${place}\u0000${column}`,
    sameAs: JSON.stringify([requestId, place, column, where ?? null]),
    spec: { column, where, branch },
  };
}
