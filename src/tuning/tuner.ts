import type { Catalog } from '../catalog/catalog.ts';
import type { Engine, SearchSample } from '../engine/engine.ts';
import { ServiceError } from '../errors/service-error.ts';
import { parseFieldPath, resolveField } from '../model/field-path.ts';
import { isVectorIndexType } from '../model/index-spec.ts';
import type { IndexDescription } from '../model/index-spec.ts';
import { formatPath } from '../model/identifier.ts';
import type { IndexLimits } from '../model/limits.ts';
import type { ActiveTable, TableRecord } from '../model/table.ts';
import { TUNED_SHARES, chooseMeasured, findTuning, toRecallGoal, withMargin } from '../model/tuning/search-tuning.ts';
import type { IndexTuning, MeasuredSearch, SearchSettings, TunedClass } from '../model/tuning/search-tuning.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import { LADDERS, START, climb } from './climb.ts';

export interface TunerParts {
  readonly engine: Pick<Engine, 'describeTable' | 'indexes'>;
  readonly catalog: Pick<Catalog, 'tables'>;
  readonly telemetry: Telemetry;
  readonly limits: IndexLimits;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

interface TuneRequest {
  readonly index: string;
  /** The main branch if absent. */
  readonly branch?: string | undefined;
  /** Default: the last target, or that of the setting. */
  readonly target?: number | undefined;
  /** The duration of the build or refresh, in milliseconds, which bounds that of the measurement. */
  readonly buildMilliseconds: number;
}

const QUERIES_MIN = 40;
/** A graph may miss all neighbors of one query in twenty, which a few dozen queries often do not show. */
const QUERIES_MAX = 200;
/** More queries leave time for fewer settings: this many per second of measurement. */
const QUERIES_PER_SECOND = 10;

/** The measurement takes at most this share of the build time, or `index.tuningSecondsMin` if that is more. */
const PART_OF_BUILD = 0.08;
/** The share of that time after which no more exact neighbors are searched for. */
const PART_FOR_NEIGHBOURS = 0.3;

/** How much longer the measurement without a filter may take. */
const LATE_MILLISECONDS = 500;

/** An index is measured again after its table has grown or shrunk by this share. */
const CHANGE_MIN = 0.1;

/** Measures vector indexes, and stores the parameters for searches without parameters. */
export class Tuner {
  readonly #parts: TunerParts;

  constructor(parts: TunerParts) {
    this.#parts = parts;
  }

  /** A failure is reported but changes nothing: the index still serves searches. A dropped table is no failure. */
  async tune(table: ActiveTable, request: TuneRequest): Promise<IndexTuning | undefined> {
    const { catalog, telemetry, limits } = this.#parts;
    try {
      const tuning = limits.tuningSeconds === 0 ? undefined : await this.#measure(table, request);
      if (tuning === undefined) {
        // The known tuning belongs to an earlier index, or to other rows.
        const former = findTuning(table.tunings, request.index, request.branch);
        if (former !== undefined) await catalog.tables.removeTuning(table.id, former);
        return undefined;
      }
      await catalog.tables.saveTuning(table.id, tuning);
      // A concurrent commit may have found nothing to forget.
      await this.forgetOutdated(table);
      // The metric is for the main branch only.
      if (tuning.branch !== undefined) return tuning;
      const { index, indexType, target, milliseconds } = tuning;
      const recalls = tuning.classes.map((each) => chooseMeasured(each, toRecallGoal(tuning, target))?.recall ?? 0);
      telemetry.emit({
        kind: 'index-tuned',
        table: formatPath(table.path),
        index,
        indexType,
        target,
        recalls,
        milliseconds,
      });
      return tuning;
    } catch (cause) {
      await this.#report(table.id, cause);
      return undefined;
    }
  }

  /** Call it after maintenance: measures indexes that were never measured, or whose table has changed much since. */
  async tuneChanged(table: ActiveTable, buildMilliseconds: number): Promise<void> {
    const tunings = await this.forgetOutdated(table);
    if (this.#parts.limits.tuningSeconds === 0) return;
    const indexes = await this.#parts.engine.indexes.list({ ...table, branch: undefined, version: undefined });
    for (const index of indexes) {
      if (!isVectorIndexType(index.type) || !hasChanged(tunings, index)) continue;
      await this.tune(table, { index: index.name, buildMilliseconds });
    }
  }

  /**
   * Forgets tunings of indexes that are gone or were replaced, and follows renamed columns. Returns the remaining ones.
   * Reports failures.
   */
  async forgetOutdated({ id, location }: Pick<TableRecord, 'id' | 'location'>): Promise<readonly IndexTuning[]> {
    const { catalog } = this.#parts;
    const kept: IndexTuning[] = [];
    try {
      const table = await catalog.tables.findById(id);
      for (const tuning of table?.tunings ?? []) {
        const current = await this.#findCurrent(location, tuning);
        if (current === undefined) await catalog.tables.removeTuning(id, tuning);
        else kept.push(current);
        if (current !== undefined && current !== tuning) await catalog.tables.saveTuning(id, current);
      }
    } catch (cause) {
      await this.#report(id, cause);
    }
    return kept;
  }

  /** The tuning if its index still has the same type, distance and column, which may have been renamed. */
  async #findCurrent(location: TableRecord['location'], tuning: IndexTuning): Promise<IndexTuning | undefined> {
    const { engine } = this.#parts;
    const state = { location, branch: tuning.branch, version: undefined };
    try {
      const index = (await engine.indexes.list(state)).find(({ name }) => name === tuning.index);
      const [column] = index?.columns ?? [];
      if (index?.type !== tuning.indexType || column === undefined) return undefined;
      const statistics = await engine.indexes.findStatistics(state, tuning.index);
      if (statistics?.distanceType !== tuning.distanceType) return undefined;
      if (column === tuning.column) return tuning;
      const { schema } = await engine.describeTable(state);
      const isRenamed = resolveField(schema, parseFieldPath(tuning.column)) === undefined;
      return isRenamed ? { ...tuning, column } : undefined;
    } catch (error) {
      if (error instanceof ServiceError && error.kind === 'TableBranchNotFound') return undefined;
      throw error;
    }
  }

  /** Reports unless the table is gone. If the catalog does not respond, reports anyway. */
  async #report(tableId: string, cause: unknown): Promise<void> {
    const { catalog, telemetry } = this.#parts;
    const exists = await catalog.tables.has(tableId).catch(() => true);
    if (exists) telemetry.emit({ kind: 'background-failed', task: 'index tuning', cause });
  }

  async #measure(table: ActiveTable, request: TuneRequest): Promise<IndexTuning | undefined> {
    const { engine, limits, now } = this.#parts;
    const { index, branch, buildMilliseconds } = request;
    const startedAt = performance.now();
    const allowed = Math.max(limits.tuningSecondsMin * 1000, buildMilliseconds * PART_OF_BUILD);
    const milliseconds = Math.min(allowed, limits.tuningSeconds * 1000);
    const target = request.target ?? findTuning(table.tunings, index, branch)?.target ?? limits.recallPercent / 100;
    const sample = await engine.indexes.openSample(
      { location: table.location, branch },
      { index, queriesMax: countQueries(milliseconds), milliseconds: milliseconds * PART_FOR_NEIGHBOURS },
    );
    if (sample === undefined) return undefined;
    const { type } = sample.index;
    try {
      const classes = await measureClasses(sample, target, startedAt + milliseconds);
      if (classes.length === 0) return undefined;
      const { column, dimension, distanceType, rows } = sample;
      const facts = { index, branch, indexType: type, column, dimension, distanceType, target, rows, classes };
      return { ...facts, tunedAt: now(), milliseconds: Math.round(performance.now() - startedAt) };
    } finally {
      sample.close();
    }
  }
}

/** An upper bound: there are fewer if finding their exact neighbors takes too long. */
export function countQueries(milliseconds: number): number {
  const fitting = Math.floor((milliseconds / 1000) * QUERIES_PER_SECOND);
  return Math.min(QUERIES_MAX, Math.max(QUERIES_MIN, fitting));
}

/** Each class starts where the previous one ended: a narrower filter needs more partitions. */
async function measureClasses(sample: SearchSample, target: number, until: number): Promise<readonly TunedClass[]> {
  const { type } = sample.index;
  const classes: TunedClass[] = [];
  if (!isVectorIndexType(type)) return classes;
  const goal = toRecallGoal({ indexType: type }, target);
  let start = START;
  // Half a measurement would be worse than a late one.
  const latest = Math.max(until, performance.now()) + LATE_MILLISECONDS;
  for (const share of TUNED_SHARES) {
    let isLate = false;
    const measure = async (settings: SearchSettings): Promise<MeasuredSearch | undefined> => {
      isLate = performance.now() >= (share === 1 ? latest : until);
      return isLate ? undefined : { settings, ...(await sample.measure(settings, share, goal)) };
    };
    const climbed = await climb({ ladders: LADDERS[type], start, goal, measure });
    // Unmeasured classes use the settings of the previous one, which is safe.
    const isPoor = climbed !== undefined && climbed.recall < withMargin(target);
    if (climbed === undefined || (isLate && share < 1 && isPoor)) break;
    const exact = isPoor ? toExact(sample, climbed.measured) : [];
    classes.push({ share, measured: [...climbed.measured, ...exact].map(rounded) });
    start = climbed.position;
  }
  return classes;
}

/** An index with insufficient recall is not used, unless comparing every row takes much longer. */
function toExact({ exactMilliseconds }: SearchSample, tried: readonly MeasuredSearch[]): readonly MeasuredSearch[] {
  const slowest = Math.max(...tried.map(({ milliseconds }) => milliseconds));
  if (exactMilliseconds > slowest * EXACT_FACTOR_MAX) return [];
  return [{ settings: { isExact: true }, recall: 1, milliseconds: exactMilliseconds }];
}

const EXACT_FACTOR_MAX = 4;

function hasChanged(tunings: readonly IndexTuning[], { name, indexedRows = 0 }: IndexDescription): boolean {
  const tuning = findTuning(tunings, name, undefined);
  return tuning === undefined || Math.abs(indexedRows - tuning.rows) >= tuning.rows * CHANGE_MIN;
}

function rounded({ settings, recall, milliseconds }: MeasuredSearch): MeasuredSearch {
  return { settings, recall: Math.floor(recall * 1000) / 1000, milliseconds: Math.round(milliseconds * 100) / 100 };
}
