import { performance } from 'node:perf_hooks';

/** One side of a comparison: executes work, and several at once if needed. */
export type Work = (worker: number, turn: number) => Promise<void>;

export interface Side {
  readonly work: Work;
}

export interface Comparison {
  readonly name: string;
  /** Operations per second, the median of the rounds. */
  readonly http: number;
  readonly engine: number;
  /** Throughput over HTTP relative to the engine's; the median of the ratios of the rounds. */
  readonly ratio: number;
  readonly lowest: number;
  readonly highest: number;
  /** 0: no goal, for information only. */
  readonly goal: number;
}

/** A figure of the server alone; lower is better. */
export interface Count {
  readonly name: string;
  /** The median of the rounds. */
  readonly count: number;
  readonly lowest: number;
  readonly highest: number;
  readonly goalMax: number;
}

/** A figure of the server alone from 0 to 1; higher is better. */
export interface Share {
  readonly name: string;
  /** The mean. */
  readonly share: number;
  readonly lowest: number;
  readonly highest: number;
  readonly goalMin: number;
}

export type Result = Comparison | Count | Share;

export interface Plan {
  readonly name: string;
  readonly goal: number;
  readonly workers: number;
  readonly operations: number;
  readonly rounds: number;
  readonly http: Work;
  readonly engine: Work;
}

/** Runs both sides in turn, alternating which goes first, so that a slow minute of the machine affects both. */
export async function compare(plan: Plan): Promise<Comparison> {
  await runOperations(plan.http, plan.workers, Math.max(1, Math.ceil(plan.operations / 4)));
  await runOperations(plan.engine, plan.workers, Math.max(1, Math.ceil(plan.operations / 4)));
  const http: number[] = [];
  const engine: number[] = [];
  for (let round = 0; round < plan.rounds; round += 1) {
    const sides = [
      async () => void http.push(await runOperations(plan.http, plan.workers, plan.operations)),
      async () => void engine.push(await runOperations(plan.engine, plan.workers, plan.operations)),
    ];
    for (const side of round % 2 === 0 ? sides : sides.toReversed()) await side();
  }
  return toComparison({ name: plan.name, goal: plan.goal, http, engine });
}

/** Calculated from the rates of each round. */
export function toComparison({ name, goal, http, engine }: Pick<Plan, 'name' | 'goal'> & Rates): Comparison {
  const ratios = http.map((rate, round) => rate / (engine[round] ?? Number.NaN));
  return {
    name,
    http: median(http),
    engine: median(engine),
    ratio: median(ratios),
    lowest: Math.min(...ratios),
    highest: Math.max(...ratios),
    goal,
  };
}

interface Rates {
  readonly http: readonly number[];
  readonly engine: readonly number[];
}

export function countOf(name: string, counts: readonly number[], goalMax: number): Count {
  return { name, count: median(counts), lowest: Math.min(...counts), highest: Math.max(...counts), goalMax };
}

export function shareOf(name: string, shares: readonly number[], goalMin: number): Share {
  const share = shares.reduce((sum, each) => sum + each, 0) / Math.max(shares.length, 1);
  return { name, share, lowest: Math.min(...shares), highest: Math.max(...shares), goalMin };
}

/** Operations per second. */
export async function runOperations(work: Work, workers: number, operations: number): Promise<number> {
  let next = 0;
  const startedAt = performance.now();
  await Promise.all(
    Array.from({ length: workers }, async (_unused, worker) => {
      for (let turn = next; turn < operations; turn = next) {
        next += 1;
        await work(worker, turn);
      }
    }),
  );
  return operations / ((performance.now() - startedAt) / 1000);
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  const middle = sorted.length / 2;
  const upper = sorted[Math.floor(middle)] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? Number.NaN)) / 2;
}
