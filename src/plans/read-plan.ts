import type { Metric, MetricUnit, PlanStep } from '../model/plan.ts';

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
