import { quoteForMessage } from '../model/identifier.ts';

/** One row of the table of settings. `read` takes what a file, a variable or a flag gave. */
export interface Setting<T> {
  readonly type: SettingType;
  readonly default: T;
  /** Words for a default that depends on another setting, or on the machine. */
  readonly defaultText: string | undefined;
  readonly range: string;
  readonly help: string;
  read(raw: unknown): Reading<T>;
  /** The value as an operator may see it: never a secret. */
  show(value: T): string;
}

export type SettingType =
  | 'integer'
  | 'bytes'
  | 'seconds'
  | 'text'
  | 'secret'
  | 'path'
  | 'boolean'
  | 'choice'
  | 'list'
  | 'options'
  | 'json';

/** A fault is the rest of a sentence that starts with where the value came from: `must be …`. */
export type Reading<T> = { readonly value: T } | { readonly faults: readonly string[] };

export function mustBe(wanted: string, raw: unknown): { readonly faults: readonly string[] } {
  return { faults: [`must be ${wanted}, not ${nameRaw(raw)}`] };
}

/** For values that may be secret, or that say nothing. */
export function mustBeOnly(wanted: string): { readonly faults: readonly string[] } {
  return { faults: [`must be ${wanted}`] };
}

/** What a faulty value was, for a sentence: scalars as they are, anything larger by its kind only. */
export function nameRaw(raw: unknown): string {
  if (typeof raw === 'string') return quoteForMessage(raw);
  if (Array.isArray(raw)) return 'a list';
  if (typeof raw === 'object' && raw !== null) return 'an object';
  return JSON.stringify(raw);
}
