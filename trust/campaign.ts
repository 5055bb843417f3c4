import type { LeakScanner } from './leak-scanner.ts';
import type { TrustServer } from './server.ts';

/** One number of the scoreboard. Without a goal it is for information only. */
export interface Figure {
  readonly name: string;
  readonly value: number | string;
  readonly unit?: string;
  readonly goal?: string;
  readonly isMet?: boolean;
  /** Depends on how busy the machine is: in the short form, a miss is shown but does not fail the run. */
  readonly isOfTheMachine?: true;
}

export interface Campaign {
  readonly name: string;
  readonly promise: string;
  readonly run: (trust: Trust) => Promise<readonly Figure[]>;
}

/** What every campaign gets. */
export interface Trust {
  readonly seed: number;
  readonly isShort: boolean;
  /** For the campaign's files; removed at its end. */
  readonly folder: string;
  readonly scanner: LeakScanner;
  /** After this time the campaign is killed, and its results are lost. */
  readonly minutesMax: number;
  /** The full size, or the size for the short form. */
  size(full: number, short: number): number;
  /** The server as users start it, in a separate folder that is removed at the end of the campaign. */
  startServer(
    flags?: readonly string[],
    env?: Readonly<Record<string, string>>,
    program?: string,
  ): Promise<TrustServer>;
  /** Prints a line for people who watch the run. */
  report(line: string): void;
  /** Reports the campaign's progress. Almost free. */
  progress(done: number, of: number): void;
  /** Records a violation with the details needed to reproduce it. Only the first few of each kind are kept. */
  blame(kind: string, detail: string): void;
}

export function none(name: string, count: number): Figure {
  return { name, value: count, goal: '0', isMet: count === 0 };
}

export function atLeast(name: string, value: number, goal: number, unit?: string): Figure {
  return {
    name,
    value: round(value),
    goal: `≥ ${goal}`,
    isMet: value >= goal,
    ...(unit === undefined ? {} : { unit }),
  };
}

export function atMost(name: string, value: number, goal: number, unit?: string): Figure {
  return {
    name,
    value: round(value),
    goal: `≤ ${goal}`,
    isMet: value <= goal,
    ...(unit === undefined ? {} : { unit }),
  };
}

/** A goal for times and rates, which needs a quiet machine. */
export function onQuietMachine(figure: Figure): Figure {
  return { ...figure, isOfTheMachine: true };
}

export function info(name: string, value: number | string, unit?: string): Figure {
  return { name, value: typeof value === 'number' ? round(value) : value, ...(unit === undefined ? {} : { unit }) };
}

function round(value: number): number {
  return Number.isInteger(value) ? value : Number(value.toFixed(2));
}
