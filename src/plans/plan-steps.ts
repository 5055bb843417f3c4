import type { PlanStep, Metric, MetricUnit } from '../model/query.ts';

/** A step and where it stands: steps are numbered as they are read, a parent before its children. */
export interface PlacedStep {
  readonly index: number;
  readonly depth: number;
  readonly step: PlanStep;
  readonly parent: PlacedStep | undefined;
}

export function placeSteps(root: PlanStep): readonly PlacedStep[] {
  const placed: PlacedStep[] = [];
  const visit = (step: PlanStep, parent: PlacedStep | undefined): void => {
    const here = { index: placed.length, depth: parent === undefined ? 0 : parent.depth + 1, step, parent };
    placed.push(here);
    for (const child of step.children) visit(child, here);
  };
  visit(root, undefined);
  return placed;
}

export function listSteps(root: PlanStep): readonly PlanStep[] {
  return [root, ...root.children.flatMap(listSteps)];
}

/** Zero when the step does not tell. */
export function figureOf(step: PlanStep, name: string): number {
  return step.metrics[name]?.value ?? 0;
}

/** A setting out of the details, such as `k` of `name=vec_idx, k=10, deltas=1`. */
export function settingOf(step: PlanStep, name: string): string | undefined {
  return new RegExp(`(?:^|, )${name}=([^,]*)`).exec(step.details)?.[1];
}

/** The names in a list of the details, such as `projection=[id, vec]`. */
export function namesOf(step: PlanStep, name: string): readonly string[] {
  const [, list = ''] = new RegExp(`(?:^|, )${name}=\\[([^\\]]*)\\]`).exec(step.details) ?? [];
  return list === '' ? [] : list.split(', ');
}

export function findBelow(root: PlanStep, operator: string): PlanStep | undefined {
  return root.children.flatMap(listSteps).find((step) => step.operator === operator);
}

/** Rows that came out of the query: those of the outermost step that counts them. */
export function resultRows(root: PlanStep): number {
  return (
    listSteps(root).find(({ metrics }) => metrics['output_rows'] !== undefined)?.metrics['output_rows']?.value ?? 0
  );
}

/** The root step of a reply with the plan as a tree; `undefined` when it is none. */
export function readPlan(value: unknown): PlanStep | undefined {
  if (!isRecord(value)) return undefined;
  const { operator, details, metrics, children } = value;
  if (typeof operator !== 'string' || typeof details !== 'string' || !Array.isArray(children)) return undefined;
  const below = children.map(readPlan).filter((child) => child !== undefined);
  if (below.length < children.length) return undefined;
  return { operator, details, metrics: isRecord(metrics) ? readMetrics(metrics) : {}, children: below };
}

function readMetrics(metrics: Readonly<Record<string, unknown>>): Readonly<Record<string, Metric>> {
  const read = Object.entries(metrics).map(([name, metric]) => [name, readMetric(metric)] as const);
  return Object.fromEntries(read.filter((entry): entry is [string, Metric] => entry[1] !== undefined));
}

function readMetric(value: unknown): Metric | undefined {
  if (!isRecord(value)) return undefined;
  const { value: figure, unit, text } = value;
  if (typeof figure !== 'number' || typeof text !== 'string' || !isUnit(unit)) return undefined;
  return { value: figure, unit, text };
}

function isUnit(value: unknown): value is MetricUnit {
  return value === 'count' || value === 'bytes' || value === 'nanoseconds';
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Nanoseconds that each step took by itself. The engine tells two times: `elapsed`, from the start of the query until the
 * step was done, its children included; and `elapsed_compute`, which it worked, waiting for data not included. A step's
 * own time is what it worked, or what passed between its last child's end and its own, whichever is more. A step at the
 * bottom is done only when those above have taken its last rows: what they worked meanwhile is not counted as its own.
 */
export function ownTimes(root: PlanStep): ReadonlyMap<PlanStep, number> {
  const times = new Map<PlanStep, number>();
  const visit = (step: PlanStep, workedMeanwhile: number): void => {
    const worked = figureOf(step, 'elapsed_compute');
    const elapsed = figureOf(step, 'elapsed');
    if (step.children.length === 0) {
      times.set(step, Math.max(worked, elapsed - workedMeanwhile, 0));
      return;
    }
    const behind = Math.max(0, elapsed - Math.max(...step.children.map((child) => figureOf(child, 'elapsed'))));
    times.set(step, Math.max(worked, isFrame(step) ? 0 : behind));
    for (const child of step.children) visit(child, workedMeanwhile + Math.max(0, worked - behind));
  };
  visit(root, 0);
  return times;
}

/** Each step's part of the whole, from 0 to 1. */
export function timeShares(root: PlanStep): ReadonlyMap<PlanStep, number> {
  const times = ownTimes(root);
  const sum = [...times.values()].reduce((total, time) => total + time, 0);
  return new Map([...times].map(([step, time]) => [step, sum === 0 ? 0 : time / sum]));
}

export function totalTime(root: PlanStep): number {
  return Math.max(...listSteps(root).map((step) => figureOf(step, 'elapsed')));
}

/** These hold the others; a fusion's legs are analysed apart from the run that its own time was taken in. */
function isFrame(step: PlanStep): boolean {
  return isFrameStep(step) || step.operator === 'HybridFusionExec';
}

const WORDS: Readonly<Record<string, string>> = {
  AnalyzeExec: 'Analysis',
  TracedExec: 'Query',
  ANNIvfPartition: 'Choose partitions',
  ANNSubIndex: 'Search the vector index',
  CoalesceBatchesExec: 'Join batches',
  CoalescePartitionsExec: 'Gather from threads',
  FilterExec: 'Filter',
  FlatMatchQuery: 'Look through texts',
  GlobalLimitExec: 'Limit',
  HybridFusionExec: 'Fuse both rankings',
  KNNVectorDistance: 'Compare vectors',
  LanceRead: 'Read rows',
  LanceScan: 'Read rows',
  MatchQuery: 'Search the text index',
  PhraseQuery: 'Search the text index',
  ProjectionExec: 'Choose columns',
  RepartitionExec: 'Spread over threads',
  ScalarIndexQuery: 'Look up in the index',
  SortExec: 'Sort',
  Take: 'Fetch columns',
  UnionExec: 'Put together',
};

/** What a step does, in words for people who do not know the engine; its own name when it has none here. */
export function wordsOfStep({ operator, details }: PlanStep): string {
  if (operator === 'SortExec' && /TopK\(fetch=\d+\), expr=\[_distance/.test(details)) return 'Keep the nearest';
  if (operator === 'SortExec' && details.startsWith('TopK')) return 'Keep the first';
  return WORDS[operator] ?? operator;
}

/** Steps that hold the plan together and neither read nor compute anything of note. */
export function isFrameStep({ operator }: PlanStep): boolean {
  return operator === 'AnalyzeExec' || operator === 'TracedExec';
}
