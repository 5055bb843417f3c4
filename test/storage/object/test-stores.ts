import { readEngineRelease } from '../../../src/engine/native/engine-release.ts';
import { ObjectStores } from '../../../src/storage/object/object-stores.ts';
import type { ObjectSettings } from '../../../src/storage/object/object-stores.ts';
import { parseAddress } from '../../../src/storage/object/address.ts';
import type { ObjectStore } from '../../../src/storage/object/object-store.ts';
import type { S3Emulator } from '../../support/s3/s3-emulator.ts';

/** For tests of tables in object stores: why they are skipped, or `false`. */
export const NO_OBJECT_STORES = readEngineRelease().isFallback ? 'the fallback engine refuses object stores' : false;

/** Settings for an emulator: quick to give up, and without a time in which versions cannot be removed. */
export function toObjectSettings(
  { storageOptions }: Pick<S3Emulator, 'storageOptions'>,
  settings: Partial<ObjectSettings> = {},
): ObjectSettings {
  return {
    options: storageOptions,
    environment: {},
    requestSeconds: 5,
    requestAttemptsMax: 4,
    retentionSecondsMin: 0,
    ...settings,
  };
}

export function openStore(emulator: S3Emulator, settings: Partial<ObjectSettings> = {}): ObjectStore {
  return new ObjectStores(toObjectSettings(emulator, settings)).open(parseAddress('s3://bucket'));
}

export async function collect<Value>(values: AsyncIterable<Value>): Promise<readonly Value[]> {
  const found: Value[] = [];
  for await (const value of values) found.push(value);
  return found;
}
