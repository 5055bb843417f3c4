import type { Metric, PlanStep } from '../model/query.ts';
import { isObject } from '../model/strict-json.ts';

export interface PlacedStep {
  readonly depth: number;
  readonly step: PlanStep;
}

/** In display order: a parent before its children. */
export function placeSteps(step: PlanStep, depth = 0): readonly PlacedStep[] {
  return [{ depth, step }, ...step.children.flatMap((child) => placeSteps(child, depth + 1))];
}

export function listSteps(root: PlanStep): readonly PlanStep[] {
  return [root, ...root.children.flatMap(listSteps)];
}

/** Zero if the step has no such metric. */
export function figureOf(step: PlanStep | undefined, name: string): number {
  return step?.metrics[name]?.value ?? 0;
}

/** A setting in the details, such as `k` in `name=vec_idx, k=10, deltas=1`. */
export function settingOf(step: PlanStep, name: string): string | undefined {
  return new RegExp(`(?:^|, )${name}=([^,]*)`).exec(step.details)?.[1];
}

/** A list in the details, such as `projection=[id, vec]`. */
export function namesOf(step: PlanStep, name: string): readonly string[] {
  const [, list = ''] = new RegExp(`(?:^|, )${name}=\\[([^\\]]*)\\]`).exec(step.details) ?? [];
  return list === '' ? [] : list.split(', ');
}

/**
 * Whether the step reads columns of rows that were already found: a separate operator in 0.31.0, a form of `LanceRead`
 * in 0.39.0.
 */
export function isFetch(step: PlanStep): boolean {
  return (
    step.operator === 'Take' ||
    (step.operator === 'LanceRead' && settingOf(step, 'source')?.startsWith('stream(') === true)
  );
}

export function findBelow(root: PlanStep, operator: string): PlanStep | undefined {
  return root.children.flatMap(listSteps).find((step) => step.operator === operator);
}

/** The output of the outermost step that counts its rows. */
export function resultRows(root: PlanStep): number {
  return figureOf(
    listSteps(root).find(({ metrics }) => metrics['output_rows'] !== undefined),
    'output_rows',
  );
}

/** The root step of a reply; `undefined` if it is malformed. */
export function readPlan(value: unknown): PlanStep | undefined {
  if (!isObject(value)) return undefined;
  const { operator, details, metrics, children } = value;
  if (typeof operator !== 'string' || typeof details !== 'string' || !Array.isArray(children)) return undefined;
  const below = children.map(readPlan).filter((child) => child !== undefined);
  if (below.length < children.length) return undefined;
  return { operator, details, metrics: isObject(metrics) ? readMetrics(metrics) : {}, children: below };
}

function readMetrics(metrics: Readonly<Record<string, unknown>>): Readonly<Record<string, Metric>> {
  return Object.fromEntries(Object.entries(metrics).flatMap(([name, metric]) => readMetric(name, metric)));
}

function readMetric(name: string, metric: unknown): readonly (readonly [string, Metric])[] {
  if (!isObject(metric)) return [];
  const { value, unit, text } = metric;
  const isUnit = unit === 'count' || unit === 'bytes' || unit === 'nanoseconds';
  return typeof value === 'number' && typeof text === 'string' && isUnit ? [[name, { value, unit, text }]] : [];
}

/**
 * The self time of each step, in nanoseconds. The engine reports `elapsed`, from the start of the query to the end of
 * the step, and `elapsed_compute`, which excludes waiting for data. Self time is `elapsed_compute`, or the time from
 * the end of the last child to the end of the step if that is longer. A leaf ends only when the steps above it have
 * taken its last rows, so their compute time is subtracted from its time.
 */
export function ownTimes(root: PlanStep): ReadonlyMap<PlanStep, number> {
  const times = new Map<PlanStep, number>();
  // The legs of a hybrid search are analyzed in separate runs, so their elapsed times are not comparable.
  const visit = (step: PlanStep, workAbove: number): void => {
    const worked = figureOf(step, 'elapsed_compute');
    const elapsed = figureOf(step, 'elapsed');
    if (step.children.length === 0) {
      times.set(step, Math.max(worked, elapsed - workAbove, 0));
      return;
    }
    const afterChildren = Math.max(0, elapsed - Math.max(...step.children.map((child) => figureOf(child, 'elapsed'))));
    const isWrapper = isFrameStep(step) || step.operator === 'HybridFusionExec';
    times.set(step, Math.max(worked, isWrapper ? 0 : afterChildren));
    for (const child of step.children) visit(child, workAbove + Math.max(0, worked - afterChildren));
  };
  visit(root, 0);
  return times;
}

export function timeShares(root: PlanStep): ReadonlyMap<PlanStep, number> {
  const times = ownTimes(root);
  const sum = [...times.values()].reduce((total, time) => total + time, 0);
  return new Map([...times].map(([step, time]) => [step, sum === 0 ? 0 : time / sum]));
}

export function totalTime(root: PlanStep): number {
  return Math.max(...listSteps(root).map((step) => figureOf(step, 'elapsed')));
}

const WORDS: Readonly<Record<string, string>> = {
  AggregateExec: 'Group',
  AnalyzeExec: 'Analysis',
  TracedExec: 'Query',
  ANNIvfPartition: 'Choose partitions',
  ANNSubIndex: 'Search the vector index',
  BooleanQuery: 'Combine text matches',
  BoostQuery: 'Combine text matches',
  CoalesceBatchesExec: 'Merge batches',
  CoalescePartitionsExec: 'Gather from threads',
  CompoundFtsScorer: 'Search the full-text index',
  CrossColumnCompoundFtsScorer: 'Search the full-text index',
  FilterExec: 'Filter',
  FlatMatchQuery: 'Search texts without an index',
  GlobalLimitExec: 'Limit',
  HybridFusionExec: 'Combine both rankings',
  KNNVectorDistance: 'Compare vectors',
  LanceRead: 'Read rows',
  LanceScan: 'Read rows',
  MatchQuery: 'Search the full-text index',
  PhraseQuery: 'Search the full-text index',
  ProjectionExec: 'Select columns',
  RepartitionExec: 'Distribute to threads',
  ScalarIndexQuery: 'Look up in an index',
  SharedMultiMatchPrefilter: 'Filter first',
  SortExec: 'Sort',
  UnionExec: 'Combine results',
};

/** What a step does, for users who do not know the engine's operators. */
export function wordsOfStep(step: PlanStep): string {
  const { operator, details } = step;
  if (isFetch(step)) return 'Fetch columns';
  if (operator === 'SortExec' && /TopK\(fetch=\d+\), expr=\[_distance/.test(details)) return 'Keep the nearest';
  if (operator === 'SortExec' && details.startsWith('TopK')) return 'Keep the first';
  return WORDS[operator] ?? operator;
}

/** Wrappers around the plan, without significant work of their own. */
export function isFrameStep({ operator }: PlanStep): boolean {
  return operator === 'AnalyzeExec' || operator === 'TracedExec';
}
