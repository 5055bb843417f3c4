import { LRUCache } from 'lru-cache';
import type { Catalog } from '../catalog/catalog.ts';
import { GivenUp, NotOwner, ServiceError } from '../errors/service-error.ts';
import type { Jobs, StartedJob } from '../jobs/jobs.ts';
import { formatPath } from '../model/identifier.ts';
import {
  MAINTENANCE_PAUSED,
  MAINTENANCE_PROPERTY,
  branchKey,
  isMaintenancePaused,
  isObjectRoot,
  toTableState,
} from '../model/table.ts';
import type { ActiveTable, TableRecord, TableSummary } from '../model/table.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import type { Tuner } from '../tuning/tuner.ts';
import { planMaintenance } from './maintenance-plan.ts';
import type { MaintenanceContext, MaintenancePlan, PlanOptions } from './maintenance-plan.ts';
import { runMaintenance, toRunRecord } from './maintenance-run.ts';
import type { RunRecord } from './maintenance-run.ts';
import { Schedule, pauseAfter, walkTables } from './schedule.ts';
import { TableActivity } from './table-activity.ts';

interface MaintenanceParts extends MaintenanceContext {
  readonly catalog: Catalog;
  readonly jobs: Jobs;
  readonly telemetry: Telemetry;
  readonly tuner: Pick<Tuner, 'tuneChanged'>;
  /** Whether this node may write to the table. */
  readonly owns: (table: TableRecord) => Promise<boolean>;
  /** Called after a run that committed a version. */
  readonly onMaintained?: (table: ActiveTable) => Promise<void>;
}

/** Durations within a check that are excluded from the pause after it. */
interface CheckTimes {
  /** The removal of old versions. */
  readonly removalMilliseconds: number;
  /** The wait for other jobs. */
  readonly waitMilliseconds: number;
}

const FORCED = { isForced: true, removeFrom: 0 } as const;

/** Only the scan finds the old versions of tables with few commits. */
const SCANNED = { isForced: false, isHistoryDue: true, removeFrom: 0 } as const;

/** The caller and task name of automatic runs. */
const OWN_NAME = 'maintenance';

/** The scan of all tables finds the others again. */
const ACTIVE_TABLES_MAX = 10_000;

/**
 * Compaction, index refresh and cleanup of tables in use. Counts commits in memory, checks a table after many commits or
 * when it becomes idle, and scans all tables at long intervals.
 */
export class Maintenance {
  readonly #parts: MaintenanceParts;
  readonly #activities = new LRUCache<string, TableActivity>({ max: ACTIVE_TABLES_MAX });
  readonly #schedule: Schedule;
  /** Tables to check, in order. */
  readonly #waiting = new Set<string>();
  #scan: AsyncIterator<TableSummary> | undefined;
  #nextScanAt: number;
  /** When old versions of tables in use may be removed again: removals take long, and must not delay compactions. */
  #removeFrom = 0;

  constructor(parts: MaintenanceParts) {
    const { limits, now } = parts;
    this.#parts = parts;
    this.#nextScanAt = now() + limits.quietSeconds * 1000;
    this.#schedule = new Schedule({
      limits,
      now,
      nextTask: async () => this.#nextTask(),
      scan: () => this.#findDueTables(),
    });
  }

  start(): void {
    if (this.#parts.limits.runningMax > 0) this.#schedule.start();
  }

  /** `isAppend`: the commit only added rows. */
  recordCommit(table: TableRecord, { isAppend = false }: { readonly isAppend?: boolean } = {}): void {
    const { limits, now } = this.#parts;
    if (limits.runningMax === 0) return;
    const activity = this.#activityOf(table);
    if (!isAppend) activity.hasRewrites = true;
    activity.commits = (activity.commits ?? 0) + 1;
    activity.lastCommitAt = now();
    activity.isSettled = false;
    if (activity.commits < activity.nextCheck || activity.commits < limits.checkCommits) return;
    this.#waiting.add(table.id);
    this.#schedule.wake();
  }

  /** Since the service started. */
  describe(table: TableRecord) {
    const { commits = 0, lastRun } = this.#activities.peek(table.id) ?? new TableActivity(table);
    return { isPaused: isMaintenancePaused(table), commits, lastRun: lastRun && toRunRecord(lastRun) };
  }

  /** What a run on request would do. Plans with a copy, because planning changes the activity. */
  async plan(table: TableRecord): Promise<MaintenancePlan> {
    const copy = Object.assign(new TableActivity(table), this.#activities.peek(table.id));
    copy.see(table);
    return planMaintenance(this.#parts, copy, FORCED);
  }

  /** Runs on request, even if automatic maintenance is paused. */
  run(table: TableRecord, caller: string): StartedJob<RunRecord> {
    return this.#startJob(this.#activityOf(table), caller, FORCED);
  }

  async close(): Promise<void> {
    await this.#schedule.close();
    await this.#scan?.return?.();
  }

  #activityOf(table: TableRecord): TableActivity {
    const activity = this.#activities.get(table.id) ?? new TableActivity(table);
    activity.see(table);
    this.#activities.set(table.id, activity);
    return activity;
  }

  #findDueTables(): void {
    const { limits, now, catalog } = this.#parts;
    const idleSince = now() - limits.quietSeconds * 1000;
    for (const activity of this.#activities.rvalues()) {
      if (activity === undefined) continue;
      const hasBecomeIdle = !activity.isSettled && activity.lastCommitAt <= idleSince;
      const isHistoryDue = activity.historyAt !== undefined && activity.historyAt <= now();
      if (!hasBecomeIdle && !isHistoryDue) continue;
      activity.isSettled = true;
      this.#waiting.add(activity.table.id);
    }
    if (this.#scan === undefined && now() >= this.#nextScanAt) this.#scan = walkTables(catalog);
  }

  /** Tables in use come before those of the scan. */
  async #nextTask(): Promise<(() => Promise<number>) | undefined> {
    for (const id of this.#waiting) {
      this.#waiting.delete(id);
      const activity = this.#activities.peek(id);
      if (activity !== undefined) return async () => this.#checkActive(activity);
    }
    const next = await this.#nextOfScan();
    if (next === undefined) return undefined;
    return async () => {
      const { waitMilliseconds } = await this.#check(
        this.#activities.peek(next.id) ?? new TableActivity(next),
        SCANNED,
      );
      return waitMilliseconds;
    };
  }

  /** Returns the time spent on removing versions and on waiting, for which no pause is needed. */
  async #checkActive(activity: TableActivity): Promise<number> {
    const { now, limits } = this.#parts;
    const options = { isForced: false, removeFrom: this.#removeFrom };
    const { removalMilliseconds, waitMilliseconds } = await this.#check(activity, options);
    if (removalMilliseconds > 0) this.#removeFrom = now() + pauseAfter(removalMilliseconds, limits);
    return removalMilliseconds + waitMilliseconds;
  }

  async #nextOfScan(): Promise<TableSummary | undefined> {
    if (this.#scan === undefined) return undefined;
    try {
      const { done, value } = await this.#scan.next();
      if (done !== true) return value;
    } catch (error) {
      this.#reportFailure(error);
    }
    this.#scan = undefined;
    this.#nextScanAt = this.#parts.now() + this.#parts.limits.scanSeconds * 1000;
    return undefined;
  }

  /** Runs what the table needs. */
  async #check(activity: TableActivity, options: PlanOptions): Promise<CheckTimes> {
    const { catalog, limits, owns, now } = this.#parts;
    const times = { removalMilliseconds: 0, waitMilliseconds: 0 };
    try {
      const { databaseId, path, id } = activity.table;
      const table = await catalog.tables.find(databaseId, path);
      if (table === undefined || table.id !== id) {
        this.#activities.delete(id);
        return times;
      }
      activity.see(table);
      const isFree = table.heldVersion === undefined && table.isDeclared === undefined;
      if (!isFree || isMaintenancePaused(table) || !(await owns(table))) return times;
      activity.nextCheck = (activity.commits ?? 0) + limits.checkCommits;
      const plan = await planMaintenance(this.#parts, activity, options);
      const isHistoryDue = plan.cutoff !== undefined;
      if (plan.reasons.length === 0 && !isHistoryDue) return times;
      const plannedAt = now();
      let startedAt: number | undefined;
      const onStart = (): void => void (startedAt = now());
      const { outcome } = this.#startJob(activity, OWN_NAME, { ...options, isHistoryDue }, onStart);
      await outcome.finally(() => (times.waitMilliseconds = (startedAt ?? now()) - plannedAt));
      times.removalMilliseconds = activity.lastRun?.removalMilliseconds ?? 0;
    } catch (error) {
      if (error instanceof GivenUp) await this.#pause(error, activity.table);
      else await this.#reportUnlessGone(error, activity.table);
    }
    return times;
  }

  /** As on request, until a caller resumes it; then there are as many attempts again. */
  async #pause(cause: GivenUp, table: ActiveTable): Promise<void> {
    const { journal, attempts } = this.#parts.catalog;
    const commit = { operation: 'pause_table_maintenance', caller: OWN_NAME, requestId: OWN_NAME, version: 0 };
    const properties = { [MAINTENANCE_PROPERTY]: MAINTENANCE_PAUSED };
    try {
      await journal.record([{ table, commit, properties }], true);
      await attempts.clear({ tableId: table.id, work: OWN_NAME });
      const message = `The maintenance of the table ${formatPath(table.path)} is paused until it is resumed.`;
      this.#reportFailure(new ServiceError('Internal', message, { cause }));
    } catch (error) {
      await this.#reportUnlessGone(error, table);
    }
  }

  /** Plans only when the job runs: after a long wait, readers, tags and versions have changed. */
  #startJob(
    activity: TableActivity,
    caller: string,
    options: PlanOptions,
    onStart = (): void => {},
  ): StartedJob<RunRecord> {
    const { databaseId, path, location, id } = activity.table;
    const subject = {
      kind: 'maintenance',
      databaseId,
      table: path,
      tableId: id,
      caller,
      // Shared with the table's index builds: a compaction and a build would undo each other's work.
      exclusiveKey: branchKey(location),
      sameAs: `maintenance ${id}`,
      spec: {},
      ...(caller === OWN_NAME ? ({ repeatedAs: OWN_NAME, isAutomatic: true } as const) : {}),
    };
    return this.#parts.jobs.start(subject, async (enter) => {
      onStart();
      await enter('looking');
      await this.#requireNotHeld(activity.table);
      const plan = await planMaintenance(this.#parts, activity, options);
      await enter('working');
      return this.#execute(activity, plan);
    });
  }

  async #execute(activity: TableActivity, plan: MaintenancePlan): Promise<RunRecord> {
    const { engine, telemetry, tuner } = this.#parts;
    const before = activity.commits ?? 0;
    activity.hasRewrites = false;
    const run = await runMaintenance(this.#parts, activity.table.location, plan, async () =>
      this.#requireNotHeld(activity.table),
    );
    const { smallFragments, version } = await engine.maintenance.assess(activity.table.location);
    activity.lastRun = run;
    activity.lostRuns = run.isLost ? activity.lostRuns + 1 : 0;
    if (!run.isLost) {
      activity.commits = (activity.commits ?? 0) - before;
      activity.nextCheck = 0;
      activity.remaining = { version, smallFragments };
    }
    telemetry.emit({ ...run, kind: 'maintenance-done', table: formatPath(activity.table.path) });
    if (run.versionsRemoved > 0) await this.#removeMetadata(activity.table);
    if (run.version > plan.condition.version) {
      await this.#recordVersion(activity.table, run.version);
      await this.#parts.onMaintained?.(activity.table).catch((cause: unknown) => this.#reportFailure(cause));
    }
    await tuner.tuneChanged(activity.table, run.milliseconds);
    return toRunRecord(run);
  }

  /** A version that readers are held at, and that an undo restores, is not the latest: it would be removed as old. */
  async #requireNotHeld({ id }: ActiveTable): Promise<void> {
    const table = await this.#parts.catalog.tables.findById(id);
    if (table?.heldVersion === undefined) return;
    const message = 'A long write or a batch changes the table, or has failed and has not been rolled back yet.';
    const hint = 'Run the maintenance again when it has ended.';
    throw new ServiceError('ServiceUnavailable', message, { hint, retryAfterSeconds: 5 });
  }

  /**
   * Removes the metadata of removed versions. The next run removes what this one could not; it is not shown meanwhile.
   */
  async #removeMetadata(table: ActiveTable): Promise<void> {
    const { engine, catalog } = this.#parts;
    try {
      const described = await catalog.versionMetadata.listVersions(table.id);
      if (described.length === 0) return;
      const versions = await engine.versions.list(toTableState(table, {}));
      const [kept, latest] = [new Set(versions.map(({ version }) => version)), versions.at(-1)?.version ?? 0];
      await catalog.versionMetadata.remove(
        table.id,
        described.filter((version) => version < latest && !kept.has(version)),
      );
    } catch (error) {
      this.#reportFailure(error);
    }
  }

  async #recordVersion(table: ActiveTable, version: number): Promise<void> {
    const { journal, heads } = this.#parts.catalog;
    const commit = { operation: 'maintain_table', caller: OWN_NAME, requestId: OWN_NAME, version };
    try {
      await journal.record([{ table, commit }], true).catch(async (error: unknown) => {
        if (!(error instanceof NotOwner)) throw error;
        // If another node has taken the table over, its readers still get the version.
        if (isObjectRoot(table.location.root)) await heads.advance(table.id, version);
      });
    } catch (error) {
      await this.#reportUnlessGone(error, table);
    }
  }

  /** A table that was dropped or taken over during its maintenance is not a failure. */
  async #reportUnlessGone(cause: unknown, { id }: ActiveTable): Promise<void> {
    if (cause instanceof NotOwner) return;
    // If the catalog does not respond, report the failure anyway.
    const exists = await this.#parts.catalog.tables.has(id).catch(() => true);
    if (exists) this.#reportFailure(cause);
    else this.#activities.delete(id);
  }

  #reportFailure(cause: unknown): void {
    this.#parts.telemetry.emit({ kind: 'background-failed', task: OWN_NAME, cause });
  }
}
