import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError } from '../../errors/service-error.ts';
import { MAIN_BRANCH } from '../../model/table.ts';
import { isFileMissing } from '../native/engine-errors.ts';
import type { OpenTables } from '../tables/open-tables.ts';
import type { OpenTable, TableRef } from '../tables/table-handle.ts';
import { identifyBranch } from './branches.ts';
import { requireKept } from './removals.ts';

type Work<Value> = (table: OpenTable) => Promise<Value>;

/** Like `OpenTables.use`, for work that changes nothing and may run twice. */
export async function readTable<Value>(tables: OpenTables, ref: TableRef, work: Work<Value>): Promise<Value> {
  return readStates(tables, [ref], async () => tables.use(ref, work));
}

/** Like `OpenTables.useAtVersion`, for such work. */
export async function readAtVersion<Value>(tables: OpenTables, ref: TableRef, work: Work<Value>) {
  return readStates(tables, [ref], async () => tables.useAtVersion(ref, work));
}

/**
 * Versions and branches can be deleted while they are read. If files are missing because of that, refuses the read as if
 * it had come after the deletion. Otherwise the files belonged to an earlier state, and the read runs again.
 */
export async function readStates<Value>(
  tables: OpenTables,
  refs: readonly TableRef[],
  read: () => Promise<Value>,
): Promise<Value> {
  try {
    return await read();
  } catch (error) {
    if (!refs.some((ref) => mayBeDeleted(ref, error))) throw error;
    for (const ref of refs) await refuseDeleted(tables, ref);
    return read();
  }
}

/** The error for the rest of a result whose first rows were read at this version. */
export async function explainMissing(
  tables: OpenTables,
  ref: TableRef,
  { version, error }: { readonly version: number; readonly error: unknown },
): Promise<unknown> {
  if (!isFileMissing(error)) return error;
  try {
    await refuseDeleted(tables, { ...ref, version });
    return error;
  } catch (refusal) {
    return ref.version === undefined && isOfKind(refusal, 'TableVersionNotFound') ? replaced(refusal) : refusal;
  }
}

function mayBeDeleted({ version }: TableRef, error: unknown): boolean {
  // A version that the caller did not name was the latest.
  return isFileMissing(error) || (version === undefined && isOfKind(error, 'TableVersionNotFound'));
}

const ATTEMPTS_MAX = 10;
const PAUSE_MILLISECONDS = 20;

/** The manifest of a version is deleted last, so another process that removes the version may not have deleted it yet. */
async function refuseDeleted(tables: OpenTables, ref: TableRef): Promise<void> {
  const { location, branch, version } = ref;
  if (branch !== undefined && branch !== MAIN_BRANCH) await identifyBranch(tables, location, branch);
  if (version === undefined) return;
  await requireKept(tables, { location, branch }, version);
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
    await tables.usePrivate(ref, async () => {});
    await sleep(attempt * PAUSE_MILLISECONDS);
  }
}

function isOfKind(error: unknown, kind: ServiceError['kind']): error is ServiceError {
  return error instanceof ServiceError && error.kind === kind;
}

function replaced(cause: ServiceError): ServiceError {
  const message = 'The table was changed, and the version that was being read was removed.';
  return new ServiceError('ConcurrentModification', message, { cause, retryAfterSeconds: 1 });
}
