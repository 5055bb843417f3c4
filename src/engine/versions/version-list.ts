import { retryListing } from '../native/engine-errors.ts';
import type { NativeTable } from '../native/native.ts';

/** From oldest to latest. Works even while a cleanup deletes versions. */
export async function readVersions(native: NativeTable) {
  return retryListing(async () => native.listVersions());
}
