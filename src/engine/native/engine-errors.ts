import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError } from '../../errors/service-error.ts';
import { nearestName } from '../../model/field-path.ts';
import { quoteForMessage } from '../../model/identifier.ts';
import { ERROR_RULES } from './error-rules.ts';
import type { ErrorRule } from './error-rules.ts';

/** Awaits an engine call and translates its failure into an error that callers may see. */
export async function engineCall<Value>(call: () => Promise<Value>): Promise<Value> {
  try {
    return await call();
  } catch (error) {
    throw translateError(error);
  }
}

export function translateError(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  const rule = findErrorRule(error);
  if (rule !== undefined) return applyRule(rule, error);
  if (blamesCaller(readMessage(error))) {
    return new ServiceError('InvalidInput', 'The storage engine rejected the request as invalid.', { cause: error });
  }
  return new ServiceError('Internal', 'The storage engine failed.', { cause: error });
}

/**
 * Finds the rule for an engine error. Messages quote the caller's SQL, so if the engine blames the input, no rule that
 * blames the service may match: a caller cannot disguise a bad request as an outage.
 */
export function findErrorRule(error: unknown): ErrorRule | undefined {
  const message = readMessage(error);
  const isCallers = blamesCaller(message);
  const rules: readonly ErrorRule[] = Object.values(ERROR_RULES);
  return rules.find(({ blames, pattern }) => (blames === 'caller' || !isCallers) && pattern.test(message));
}

/** Omits everything after `Caused by`, which repeats the message in other words, with more of the caller's text. */
function readMessage(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return message.split(/ {2}Caused by/, 1)[0] ?? '';
}

function blamesCaller(message: string): boolean {
  return /^(?:Failed to [^:]+: (?:GenericFailure, )?)?(?:lance error: )?(?:Invalid user input: |Invalid input, )/.test(
    message,
  );
}

function applyRule({ pattern, kind, message, hint, retryAfterSeconds }: ErrorRule, cause: unknown): ServiceError {
  const [, ...groups] = pattern.exec(readMessage(cause)) ?? [];
  const captured = groups.filter((group) => group !== undefined);
  const filledHint = hint === undefined ? undefined : (fill(hint, captured) ?? nearFieldHint(captured[0], cause));
  return new ServiceError(kind, fill(message, captured) ?? message, { cause, hint: filledHint, retryAfterSeconds });
}

/** 0.39.0 sometimes lists the table's fields instead of suggesting a similar one. */
function nearFieldHint(name: string | undefined, cause: unknown): string | undefined {
  const list = / Valid fields are (.*)\.$/.exec(readMessage(cause))?.[1];
  if (name === undefined || list === undefined) return undefined;
  const fields = [...list.matchAll(/`([^`]+)`/g)].slice(0, FIELDS_MAX).map(([, field = '']) => field);
  const nearest = name.length > FIELD_CHARACTERS_MAX ? undefined : nearestName(name, fields);
  // Unquoted text, and from LanceDB clients also text in double quotes, is parsed as a name.
  return nearest === undefined ? 'Text is written in single quotes.' : `Did you mean ${quoteForMessage(nearest)}?`;
}

/** Comparing many long names costs more than a hint is worth. */
const FIELD_CHARACTERS_MAX = 100;
const FIELDS_MAX = 1000;

/** `undefined` if a capture is missing. */
function fill(template: string, captured: readonly string[]): string | undefined {
  let isWhole = true;
  const text = template.replace(/\{(\d)\}|\$(\d)/g, (_, quoted?: string, plain?: string) => {
    const part = captured[Number(quoted ?? plain) - 1];
    isWhole &&= part !== undefined;
    return quoted === undefined ? (part ?? '') : quoteForMessage(part ?? '');
  });
  return isWhole ? text : undefined;
}

/** Another writer committed first; nothing was committed here, and the same write may succeed on the newer version. */
export function isRetryableConflict(error: unknown): boolean {
  return isOfRule(error, 'commit-conflict');
}

/** Other writers committed first so often that the engine gave up; nothing was committed here. */
export function isStarved(error: unknown): boolean {
  return isOfRule(error, 'commit-starved');
}

/** A file of the table is missing, such as one of a version that was just removed. */
export function isDataMissing(error: unknown): boolean {
  return isOfRule(error, 'data-missing');
}

/** The same, also for an index of a branch: where the branch was not deleted, the engine has looked in the wrong folder. */
export function isFileMissing(error: unknown): boolean {
  return isDataMissing(error) || isOfRule(error, 'branch-index-missing');
}

/** A tag or branch was deleted while the engine read all of them. */
export function isRefDeleted(error: unknown): boolean {
  return isOfRule(error, 'ref-deleted');
}

type TestedRule = 'commit-conflict' | 'commit-starved' | 'data-missing' | 'branch-index-missing' | 'ref-deleted';

function isOfRule(error: unknown, rule: TestedRule): boolean {
  const { kind, pattern } = ERROR_RULES[rule];
  return error instanceof ServiceError && error.kind === kind && pattern.test(readMessage(error.cause));
}

/** A conflict commits nothing, so the same write may run again; each attempt must start from the newest version. */
export async function retryConflicts<Value>(attemptsMax: number, attempt: () => Promise<Value>): Promise<Value> {
  for (let attempts = 1; ; attempts += 1) {
    try {
      return await attempt();
    } catch (error) {
      if (attempts >= attemptsMax || !isRetryableConflict(error)) throw error;
    }
  }
}

const LISTINGS_MAX = 20;
const PAUSE_MILLISECONDS = 10;

/** The engine lists files and then opens each one. It fails if one is deleted in between; the next list omits it. */
export async function retryListing<Value>(list: () => Promise<Value>): Promise<Value> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await engineCall(list);
    } catch (error) {
      if (attempt >= LISTINGS_MAX || !(isDataMissing(error) || isRefDeleted(error))) throw error;
      await sleep(attempt * PAUSE_MILLISECONDS);
    }
  }
}

/** Whether the engine could not convert a value, for calls in which it computes nothing else. */
export function isConversionRefusal(error: unknown): boolean {
  const rule = error instanceof ServiceError ? findErrorRule(error.cause) : undefined;
  return rule === ERROR_RULES.cast || rule === ERROR_RULES['not-computable'];
}

const MALFORMED_BATCH = 'A record batch of the Arrow stream is malformed.';

/** For work that stores rows: only malformed batches make the engine panic there. */
export async function storeRows<Value>(work: () => Promise<Value>): Promise<Value> {
  try {
    return await work();
  } catch (error) {
    const isPanic = error instanceof ServiceError && readMessage(error.cause).startsWith('Panic in async function');
    throw isPanic ? new ServiceError('InvalidInput', MALFORMED_BATCH, { cause: error }) : error;
  }
}

/**
 * The commit was made with fewer rows than were sent: a malformed batch can end the engine's reading without an error.
 */
export class RowsMissing extends ServiceError {
  readonly version: number;

  constructor({ stored, rows, version }: { readonly stored: number; readonly rows: number; readonly version: number }) {
    super('InvalidInput', MALFORMED_BATCH, { cause: new Error(`The engine stored ${stored} of ${rows} rows.`) });
    this.version = version;
  }
}
