import { retryListing } from '../native/engine-errors.ts';
import type { NativeTable } from '../native/native.ts';

/** From the oldest to the latest, also while a cleanup deletes some. */
export async function readVersions(native: NativeTable) {
  return retryListing(async () => native.listVersions());
}
