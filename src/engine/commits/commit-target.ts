import { ServiceError } from '../../errors/service-error.ts';
import { MAIN_BRANCH } from '../../model/table.ts';
import type { TableLocation, TableState } from '../../model/table.ts';
import { engineCall, isRetryableConflict } from '../native/engine-errors.ts';
import type { OpenTables } from '../tables/open-tables.ts';

/** What a write is about: a table, on its main branch or another. */
export interface WriteTarget {
  readonly location: TableLocation;
  readonly branch: string | undefined;
}

/** The latest state of what is written to. */
export function toWriteState({ location, branch }: WriteTarget): TableState {
  return { location, branch: branch === MAIN_BRANCH ? undefined : branch, version: undefined };
}

/** A conflict commits nothing, so the same write may run again; each attempt starts from the newest version. */
export async function retryConflicts<Value>(attemptsMax: number, attempt: () => Promise<Value>): Promise<Value> {
  for (let attempts = 1; ; attempts += 1) {
    try {
      return await attempt();
    } catch (error) {
      if (attempts >= attemptsMax || !isRetryableConflict(error)) throw error;
    }
  }
}

/** Makes the contents of an earlier version the latest, and gives the new version. */
export async function restoreVersion(tables: OpenTables, target: WriteTarget, version: number): Promise<number> {
  return tables.usePrivate({ ...toWriteState(target), version }, async ({ native }) => {
    await engineCall(async () => native.restore());
    return engineCall(async () => native.version());
  });
}

/** `undefined` when there is no data. */
export async function findLatestVersion(tables: OpenTables, target: WriteTarget): Promise<number | undefined> {
  try {
    return await tables.usePrivate(toWriteState(target), async (table) => table.version());
  } catch (error) {
    if (error instanceof ServiceError && error.kind === 'TableNotFound') return undefined;
    throw error;
  }
}
