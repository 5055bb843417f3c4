import type { Catalog } from '../catalog/catalog.ts';
import type { Jobs, StartedJob } from '../jobs/jobs.ts';
import { isMaintenancePaused, locationKey } from '../model/table.ts';
import { formatPath } from '../model/identifier.ts';
import type { TableRecord } from '../model/table.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import { Pace, restAfter, walkTables } from './schedule.ts';
import { toRunRecord } from './maintenance-run.ts';
import type { RunRecord, Upkeep } from './maintenance-run.ts';
import { TableWatches } from './table-activity.ts';
import type { TableWatch } from './table-activity.ts';
import { hasWork, planUpkeep, runUpkeep } from './maintenance-plan.ts';
import type { UpkeepContext, UpkeepPlan } from './maintenance-plan.ts';

export interface MaintenanceParts extends UpkeepContext {
  readonly catalog: Catalog;
  readonly jobs: Jobs;
  readonly telemetry: Telemetry;
}

/** What is known of a table's upkeep since the service started. */
export interface MaintenanceState {
  readonly isPaused: boolean;
  readonly commits: number;
  readonly lastRun: RunRecord | undefined;
}

const FORCED = { isForced: true, removeFrom: 0 } as const;

/** The name under which the service acts by itself. */
const OWN_NAME = 'maintenance';

/**
 * Keeps tables in order while they are used: counts commits in memory, looks at a table when there were many or when it
 * has become quiet, and now and then at all tables, one after the other.
 */
export class Maintenance {
  readonly #parts: MaintenanceParts;
  readonly #watches = new TableWatches();
  readonly #pace: Pace;
  /** Tables that wait to be looked at, in this order. */
  readonly #waiting = new Set<string>();
  #round: AsyncIterator<TableRecord> | undefined;
  #nextRoundAt: number;
  /**
   * When old versions of tables in use may be removed again. It takes long, and a table in use cannot wait that long, and
   * three times more, for its fragments to be merged.
   */
  #removeFrom = 0;

  constructor(parts: MaintenanceParts) {
    const { limits, now } = parts;
    this.#parts = parts;
    this.#nextRoundAt = now() + limits.quietSeconds * 1000;
    this.#pace = new Pace({ limits, now, take: () => this.#take(), look: () => this.#lookAround() });
  }

  start(): void {
    if (this.#parts.limits.runningMax > 0) this.#pace.start();
  }

  noteCommit(table: TableRecord): void {
    const { limits, now } = this.#parts;
    if (limits.runningMax === 0) return;
    const watch = this.#watches.open(table);
    watch.commits = (watch.commits ?? 0) + 1;
    watch.lastCommitAt = now();
    watch.isSettled = false;
    if (watch.commits < watch.nextLook || watch.commits < limits.checkCommits) return;
    this.#waiting.add(table.id);
    this.#pace.wake();
  }

  describe(table: TableRecord): MaintenanceState {
    const watch = this.#watches.find(table.id);
    return {
      isPaused: isMaintenancePaused(table),
      commits: watch?.commits ?? 0,
      lastRun: watch?.lastUpkeep === undefined ? undefined : toRunRecord(watch.lastUpkeep),
    };
  }

  /** What a run by hand would do. */
  async plan(table: TableRecord): Promise<UpkeepPlan> {
    const known = this.#watches.find(table.id) ?? new TableWatches().open(table);
    // A copy: to ask is not to look.
    return planUpkeep(this.#parts, { ...known, table }, FORCED);
  }

  /** Paused or not: whoever asks for it gets it. */
  run(table: TableRecord, caller: string): StartedJob<RunRecord> {
    const watch = this.#watches.open(table);
    return this.#startJob(watch, caller, async () => planUpkeep(this.#parts, watch, FORCED));
  }

  async close(): Promise<void> {
    await this.#pace.close();
    await this.#round?.return?.();
  }

  /** In memory only: which of the tables that were written have become quiet, and whether a round is due. */
  #lookAround(): void {
    const { limits, now } = this.#parts;
    const quietSince = now() - limits.quietSeconds * 1000;
    for (const watch of this.#watches.all()) {
      const hasBecomeQuiet = !watch.isSettled && watch.lastCommitAt <= quietSince;
      const isHistoryDue = watch.historyAt !== undefined && watch.historyAt <= now();
      if (!hasBecomeQuiet && !isHistoryDue) continue;
      // Once is enough until the next commit.
      watch.isSettled = true;
      this.#waiting.add(watch.table.id);
    }
    if (this.#round === undefined && now() >= this.#nextRoundAt) this.#round = walkTables(this.#parts.catalog);
  }

  /** The next piece of work: tables in use first. */
  async #take(): Promise<(() => Promise<number>) | undefined> {
    for (const id of this.#waiting) {
      this.#waiting.delete(id);
      const watch = this.#watches.find(id);
      if (watch !== undefined) return async () => this.#lookAtUsed(watch);
    }
    const next = await this.#nextOfRound();
    if (next === undefined) return undefined;
    return async () => {
      await this.#lookAt(this.#watches.find(next.id) ?? new TableWatches().open(next), 0);
      return 0;
    };
  }

  async #lookAtUsed(watch: TableWatch): Promise<number> {
    const { now, limits } = this.#parts;
    const run = await this.#lookAt(watch, this.#removeFrom);
    const removal = run?.removalMilliseconds ?? 0;
    if (removal > 0) this.#removeFrom = now() + restAfter(removal, limits);
    return removal;
  }

  async #nextOfRound(): Promise<TableRecord | undefined> {
    if (this.#round === undefined) return undefined;
    try {
      const { done, value } = await this.#round.next();
      if (done !== true) return value;
    } catch (error) {
      this.#tellFailure(error);
    }
    this.#round = undefined;
    this.#nextRoundAt = this.#parts.now() + this.#parts.limits.scanSeconds * 1000;
    return undefined;
  }

  /** What was done, if anything. */
  async #lookAt(watch: TableWatch, removeFrom: number): Promise<Upkeep | undefined> {
    const { catalog, limits } = this.#parts;
    try {
      const { databaseId, path, id } = watch.table;
      const table = await catalog.tables.find(databaseId, path);
      if (table === undefined || table.id !== id) {
        this.#watches.forget(id);
        return undefined;
      }
      watch.table = table;
      const isFree = table.heldVersion === undefined && table.isDeclared === undefined;
      if (!isFree || isMaintenancePaused(table)) return undefined;
      watch.nextLook = (watch.commits ?? 0) + limits.checkCommits;
      const plan = await planUpkeep(this.#parts, watch, { isForced: false, removeFrom });
      if (!hasWork(plan)) return undefined;
      await this.#startJob(watch, OWN_NAME, async () => plan).outcome;
      return watch.lastUpkeep;
    } catch (error) {
      await this.#tellUnlessGone(error, watch.table);
      return undefined;
    }
  }

  #startJob(watch: TableWatch, caller: string, makePlan: () => Promise<UpkeepPlan>): StartedJob<RunRecord> {
    const { databaseId, path, location, id } = watch.table;
    const subject = {
      kind: 'maintenance',
      databaseId,
      table: path,
      tableId: id,
      caller,
      // That of the table's index builds: a merge and a build of one table would undo each other's work.
      lane: `${locationKey(location)}\u0000`,
      sameAs: `maintenance ${id}`,
      spec: {},
    };
    return this.#parts.jobs.start(subject, async (enter) => {
      enter('looking');
      const plan = await makePlan();
      enter('working');
      return this.#work(watch, plan);
    });
  }

  async #work(watch: TableWatch, plan: UpkeepPlan): Promise<RunRecord> {
    const { engine, telemetry } = this.#parts;
    const before = watch.commits ?? 0;
    const upkeep = await runUpkeep(this.#parts, watch.table.location, plan);
    const { smallFragments, version } = await engine.maintenance.assess(watch.table.location);
    watch.lastUpkeep = upkeep;
    watch.lostMerges = upkeep.isLost ? watch.lostMerges + 1 : 0;
    if (!upkeep.isLost) {
      watch.commits = (watch.commits ?? 0) - before;
      watch.nextLook = 0;
      watch.left = { version, smallFragments };
    }
    telemetry.emit({ ...upkeep, kind: 'maintenance-done', table: formatPath(watch.table.path) });
    if (upkeep.version > plan.condition.version) await this.#record(watch.table, upkeep.version);
    return toRunRecord(upkeep);
  }

  async #record(table: TableRecord, version: number): Promise<void> {
    const commit = { operation: 'maintain_table', caller: OWN_NAME, requestId: OWN_NAME, version };
    await this.#parts.catalog.journal
      .record([{ table, commit }], true)
      .catch(async (error: unknown) => this.#tellUnlessGone(error, table));
  }

  /** That a table was dropped while it was looked after is no failure. */
  async #tellUnlessGone(cause: unknown, { id }: TableRecord): Promise<void> {
    try {
      if (!(await this.#parts.catalog.tables.has(id))) return this.#watches.forget(id);
    } catch {
      // Whether it is there cannot be told; that something failed can.
    }
    return this.#tellFailure(cause);
  }

  #tellFailure(cause: unknown): void {
    this.#parts.telemetry.emit({ kind: 'background-failed', task: OWN_NAME, cause });
  }
}
