import { ServiceError } from '../../errors/service-error.ts';
import { engineCall } from '../native/engine-errors.ts';
import type { NativeTable } from '../native/native.ts';

type NativeIndexes = Awaited<ReturnType<NativeTable['listIndices']>>;

/**
 * Seen in @lancedb/lancedb 0.39.0: a branch of a branch looks in its parent's folder for indexes that both inherited.
 * If one is a full-text index, listing fails altogether (`undefined`), but each index can still be replaced or dropped
 * by name.
 */
export async function findIndexes(native: NativeTable): Promise<NativeIndexes | undefined> {
  try {
    return await engineCall(async () => native.listIndices());
  } catch (error) {
    if (error instanceof ServiceError && error.kind === 'Unsupported') return undefined;
    throw error;
  }
}
