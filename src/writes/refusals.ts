import { ServiceError, invalidInput } from '../errors/service-error.ts';
import { isView } from '../model/derived/view.ts';
import { catalogUnavailable, changeInDoubt, reasonOf } from '../model/refusals.ts';
import type { FailedWrite, JournaledWrite } from './write.ts';

/** Whether the engine or the service refused the write, and nothing was committed. A timeout is not a clear refusal. */
export function isClearRefusal(error: unknown): boolean {
  if (!(error instanceof ServiceError)) return false;
  return error.changedNothing || (error.traits.status < 500 && error.kind !== 'RequestTimeout');
}

export function asServiceError(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  return new ServiceError('Internal', 'The server failed.', { cause: error });
}

export function refuse(error: unknown): FailedWrite {
  return { kind: 'refused', error: asServiceError(error) };
}

/** The write may have been applied. Once the service knows, it replays the result to the same request. */
export function inDoubt(cause: unknown): ServiceError {
  return new ServiceError('ServiceUnavailable', `It is not known whether the write was applied.${reasonOf(cause)}`, {
    hint: 'Send the same request again, with the same Idempotency-Key if it has one: it is not applied twice.',
    cause,
    retryAfterSeconds: 1,
    outcome: 'unknown',
  });
}

/**
 * For a change that no journal entry resolves, such as a tag: it may have been made unless it was clearly refused. A
 * conflict means that it was not made.
 */
export function orInDoubt(error: unknown): unknown {
  const isConflict = error instanceof ServiceError && error.kind === 'ConcurrentModification';
  return isConflict || isClearRefusal(error) ? error : changeInDoubt(error);
}

/** If it is unknown whether the transaction of `begin` was committed: nothing was written to the table yet. */
export function notBegun(cause: unknown): unknown {
  return cause instanceof ServiceError && cause.outcome === 'unknown' ? catalogUnavailable(cause) : cause;
}

/** The storage accepted the data of a commit but truncated or lost it. The commit was reverted. */
export function dataNotStored(): ServiceError {
  const message = 'The storage did not store the data of the write; nothing was changed.';
  const hint = 'Check the storage and its free space, then send the write again.';
  return new ServiceError('ServiceUnavailable', message, { hint, retryAfterSeconds: 30 });
}

/** A compaction with truncated files that later writes follow: a restore would lose those writes. */
export function cannotRevert(version: number): ServiceError {
  const message = `The storage truncated files of version ${version}, and later writes build on it.`;
  const hint = 'Restore the version before it, and repeat the later writes.';
  return new ServiceError('Internal', message, { hint });
}

/** A malformed batch can end the engine's reading early without an error. The commit was reverted. */
export function malformed(): ServiceError {
  return invalidInput('A record batch of the Arrow stream is malformed.');
}

export function notUndoneYet(): ServiceError {
  const message = 'A failed earlier write to the table has not been rolled back yet. This write was not applied.';
  const hint = 'Try again later: the server keeps trying to roll it back.';
  return new ServiceError('ServiceUnavailable', message, { hint, retryAfterSeconds: 1 });
}

export function indexUndone(): ServiceError {
  const message = 'The index was built, but writes that failed have rolled the table back to versions without it.';
  return new ServiceError('ConcurrentModification', message, { hint: 'Create the index again.' });
}

type WrittenTable = Pick<JournaledWrite, 'table'> & { readonly recordedAs?: string | undefined };

/** Writes to a view that change none of its rows, or refresh it. */
const WRITES_OF_VIEWS: ReadonlySet<string> = new Set(['refresh_materialized_view', 'drop_table_index']);

export function requireNoView({ table, recordedAs = '' }: WrittenTable): void {
  if (!isView(table) || WRITES_OF_VIEWS.has(recordedAs)) return;
  throw new ServiceError('InvalidTableState', 'The table is a materialized view: only a refresh can write to it.', {
    hint: 'Write to its source table, and refresh the view.',
  });
}
