import type { SubmissionFiles } from '../submitted/submitted-manifest.ts';
import { joinKey } from './address.ts';
import { areWhole } from './commit-history.ts';
import type { ObjectStore } from './object-store.ts';

/** Files of a table on an object store: what the store has acknowledged is durable. */
export function createObjectFiles(store: ObjectStore, path: string): SubmissionFiles {
  return {
    async read(name, bytesMax) {
      const key = joinKey(path, name);
      return bytesMax === undefined ? store.get(key) : (await store.getRange(key, 0, bytesMax + 1))?.content;
    },
    areWhole: async (files) => areWhole(store, path, files),
    sync: async () => {},
    putIfAbsent: async (name, content) => store.putIfAbsent(joinKey(path, name), content),
    findETag: async (name) => store.findETag(joinKey(path, name)),
    remove: async (name) => store.remove([joinKey(path, name)]),
  };
}
