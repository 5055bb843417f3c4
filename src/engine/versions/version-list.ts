import { setTimeout as sleep } from 'node:timers/promises';
import { engineCall, isDataMissing } from '../native/engine-errors.ts';
import type { NativeTable } from '../native/native.ts';

const ATTEMPTS_MAX = 20;
const PAUSE_MILLISECONDS = 10;

/**
 * From the oldest to the latest. The engine lists the manifests, then opens each: it fails when a cleanup deletes one in
 * between, and the next list is without it.
 */
export async function readVersions(native: NativeTable) {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await engineCall(async () => native.listVersions());
    } catch (error) {
      if (attempt >= ATTEMPTS_MAX || !isDataMissing(error)) throw error;
      await sleep(attempt * PAUSE_MILLISECONDS);
    }
  }
}
