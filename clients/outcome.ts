import { lastLines } from './commands.ts';
import type { ServiceKind } from './client.ts';

export const STATES = ['works', 'differs', 'fails', 'refused by the client', 'not offered', 'skipped'] as const;
export type State = (typeof STATES)[number];

/** What a method of a client does against the service. */
export interface Outcome {
  /** With its class, such as `Table.add`. */
  readonly method: string;
  readonly outcome: State;
  readonly detail?: string;
  /** Why a failure is right, or no fault of the service. */
  readonly explained?: string;
}

/** One run of a release of a client. */
export interface Result {
  readonly client: string;
  readonly language: string;
  readonly packageName: string;
  readonly release: string;
  readonly service: ServiceKind;
  readonly date: string;
  readonly seconds: number;
  readonly outcomes: readonly Outcome[];
}

export interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

export function isFailure({ outcome, explained }: Outcome): boolean {
  return (outcome === 'fails' || outcome === 'differs') && (explained ?? '') === '';
}

export function countOutcomes(outcomes: readonly Outcome[]): Counts {
  const passed = outcomes.filter(({ outcome }) => outcome === 'works').length;
  const failed = outcomes.filter(isFailure).length;
  return { passed, failed, skipped: outcomes.length - passed - failed };
}

/** How many methods have which outcome, in words. */
export function describeStates(outcomes: readonly Outcome[]): string {
  const states = outcomes.map((each) => (isFailure(each) ? `${each.outcome} WITHOUT EXPLANATION` : each.outcome));
  return [...new Set(states)].map((state) => `${states.filter((each) => each === state).length} ${state}`).join(', ');
}

/** Lines of a program that are no outcomes are for people. */
export function readOutcome(line: string): Outcome | undefined {
  if (!line.startsWith('{')) return undefined;
  const read = parse(line);
  if (!isOutcome(read)) return undefined;
  const { method, outcome, detail = '', explained = '' } = read;
  return { method, outcome, ...(detail !== '' && { detail }), ...(explained !== '' && { explained }) };
}

/** A program that did not run to its end proves nothing about the methods that it had yet to try. */
export function brokenProgram(reason: string, said: string): Outcome {
  return { method: 'the program', outcome: 'fails', detail: `${reason}\n${lastLines(said, 20)}`.trim() };
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

function isOutcome(read: unknown): read is Outcome {
  if (typeof read !== 'object' || read === null) return false;
  const { method, outcome } = read as { method?: unknown; outcome?: unknown };
  return typeof method === 'string' && (STATES as readonly unknown[]).includes(outcome);
}
