import type { Catalog } from '../catalog/catalog.ts';
import type { Engine } from '../engine/engine.ts';
import { guardSql } from '../guard/sql/guard-sql.ts';
import type { EnterPhase, Job, Jobs, NewJob, StartedJob } from '../jobs/jobs.ts';
import type { EngineLimits, SqlLimits } from '../model/limits.ts';
import type { GuardedSql } from '../model/query.ts';
import { MAIN_BRANCH, locationKey } from '../model/table.ts';
import type { TableRecord } from '../model/table.ts';
import type { SizeQuotas } from '../quotas/size-quotas.ts';
import type { WriteRequest, Writes } from '../writes/writes.ts';
import { openTableJobs, requireOwnSuccess, toOwnRequest } from './table-jobs.ts';

export interface BackfillsParts {
  readonly engine: Engine;
  readonly catalog: Pick<Catalog, 'tables'>;
  readonly writes: Writes;
  readonly jobs: Jobs;
  readonly sizeQuotas: Pick<SizeQuotas, 'refresh'>;
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

const KIND = 'backfill_column';

/**
 * Fills computed columns in the rows that were there before them, in steps: each is a write like any other, so other
 * writers come in between, and after a restart the rows that are left are filled.
 */
export class Backfills {
  readonly #parts: BackfillsParts;
  readonly #startJob: (request: BackfillRequest) => StartedJob<Backfilled>;

  constructor(parts: BackfillsParts) {
    this.#parts = parts;
    const run = async (request: BackfillRequest, enter: EnterPhase) => {
      try {
        return await this.#run(request, enter);
      } finally {
        // A size that cannot be measured now is measured after the next write.
        await parts.sizeQuotas.refresh(request.table).catch(() => {});
      }
    };
    this.#startJob = openTableJobs(parts, { kind: KIND, toSubject, readRequest, run });
  }

  /** Refuses what cannot be done, and what a quota has no room for; texts and lists may turn out to need more. */
  async start(request: BackfillRequest, admit: WriteRequest['admit']): Promise<StartedJob<Backfilled>> {
    const { computed } = this.#parts.engine;
    const { table, branch = MAIN_BRANCH, column } = request;
    const target = { location: table.location, branch: request.branch };
    const filled = { column, where: this.#guard(request) };
    // Branches count for no quota.
    if (admit === undefined || branch !== MAIN_BRANCH) await computed.check(target, filled);
    else {
      const { rows, bytes } = await computed.countOpen(target, filled);
      if (rows > 0) await admit({ rows: 0, bytes: Math.max(1, bytes) });
    }
    return this.#startJob(request);
  }

  async #run(request: BackfillRequest, enter: EnterPhase): Promise<Backfilled> {
    const { engine, limits } = this.#parts;
    const { table, column, branch } = request;
    const where = this.#guard(request);
    await enter('counting rows');
    const open = await engine.computed.countOpen({ location: table.location, branch }, { column, where });
    const { backfillBytes: bytesMax } = limits.engine;
    let rows = 0;
    for (let fromAddress = 0n; ;) {
      // Writers beside the service may have added rows.
      await enter(`filled ${rows} of ${Math.max(open.rows, rows)} rows`);
      const plan = engine.commits.fillComputed({ column, where, fromAddress, bytesMax });
      const { fields, version } = await this.#write(request, plan);
      const filled = Number(fields['rows_filled'] ?? 0);
      // Compaction may have moved rows behind the place where the last step ended.
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
  const place = `${locationKey(table.location)}\u0000${branch ?? ''}`;
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
