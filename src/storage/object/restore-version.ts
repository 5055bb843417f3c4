import { randomUUID } from 'node:crypto';
import { ServiceError } from '../../errors/service-error.ts';
import { manifestPathLike } from '../format/layout.ts';
import { transactionFileName } from '../format/next-manifest.ts';
import { encodeRestoreTransaction, encodeRestoredManifest } from '../format/restored-manifest.ts';
import { joinKey } from './address.ts';
import { findManifest } from './commit-history.ts';
import type { ObjectStore } from './object-store.ts';

/**
 * Commits an earlier version of a table or a branch again, as exactly the next version after the base, or not at all. The
 * engine's restore never gives way: when its request is late, it undoes whatever others have committed meanwhile.
 */
export async function restoreVersion(
  store: ObjectStore,
  path: string,
  { version, baseVersion }: { readonly version: number; readonly baseVersion: number },
): Promise<boolean> {
  const restored = await findManifest(store, path, version);
  const base = version === baseVersion ? restored : await findManifest(store, path, baseVersion);
  if (restored === undefined || base === undefined) {
    throw new ServiceError('TableVersionNotFound', `The version ${version} does not exist.`);
  }
  const restore = {
    restored: restored.file,
    restoredVersion: version,
    base: base.file,
    baseVersion,
    uuid: randomUUID(),
    nowMilliseconds: Date.now(),
  };
  await store.put(joinKey(path, '_transactions', transactionFileName(restore)), encodeRestoreTransaction(restore));
  const key = joinKey(path, manifestPathLike(base.name, baseVersion + 1));
  return store.putIfAbsent(key, encodeRestoredManifest(restore));
}
