/** What a query cost, step by step: the engine's text, without places of the machine, and the same as a tree. */
export interface Analysis {
  readonly text: string;
  readonly root: PlanStep;
}

export interface PlanStep {
  readonly operator: string;
  readonly details: string;
  readonly metrics: Readonly<Record<string, Metric>>;
  readonly children: readonly PlanStep[];
}

export type MetricUnit = 'count' | 'bytes' | 'nanoseconds';

/** `value` in whole units; `text` as the engine rounded it. */
export interface Metric {
  readonly value: number;
  readonly unit: MetricUnit;
  readonly text: string;
}
