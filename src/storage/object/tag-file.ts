import { randomInt } from 'node:crypto';
import { ServiceError } from '../../errors/service-error.ts';
import { branchPath, manifestPaths, readRef, refPath } from '../format/layout.ts';
import type { TagFile } from '../storage.ts';
import { joinKey } from './address.ts';
import type { ObjectStore } from './object-store.ts';

/** The file of a tag, written in the engine's format, but only if it has not changed since it was read here. */
export async function openTag(store: ObjectStore, tablePath: string, name: string): Promise<TagFile> {
  const key = joinKey(tablePath, refPath('tags', name));
  const found = await store.find(key);
  const known = found && readRef(found.content.toString('utf8'));
  return {
    exists: found !== undefined,
    async write({ branch, version }) {
      const below = branchPath(branch);
      const manifestSize =
        below === undefined ? undefined : await measureManifest(store, joinKey(tablePath, below), version);
      if (manifestSize === undefined) {
        throw new ServiceError('TableVersionNotFound', `The table has no version ${version} on this branch.`);
      }
      const time = uniqueTime();
      const target = { branch: below === '' ? null : branch, version };
      const created = { ...target, createdAt: time, updatedAt: time, manifestSize, metadata: {} };
      const content = { ...(known ?? created), ...target, updatedAt: time, manifestSize };
      const file = Buffer.from(JSON.stringify(content, undefined, 2));
      return found === undefined ? store.putIfAbsent(key, file) : store.putIf(key, file, found.isUnchanged);
    },
    remove: async () => found !== undefined && store.removeIf(key, found.isUnchanged),
  };
}

async function measureManifest(store: ObjectStore, path: string, version: number): Promise<number | undefined> {
  for (const name of manifestPaths(version)) {
    const bytes = await store.measure(joinKey(path, name));
    if (bytes !== undefined) return bytes;
  }
  return undefined;
}

/** In nanoseconds, like the engine; digits below a millisecond are random, because contents must be unique. */
function uniqueTime(): string {
  return new Date().toISOString().replace('Z', `${String(randomInt(1_000_000)).padStart(6, '0')}Z`);
}
