import type { CloneFile, CloneFolder } from '../clone/clone-folder.ts';
import { joinKey } from './address.ts';
import type { ObjectAddress } from './address.ts';
import type { ObjectStore } from './object-store.ts';

/** A table in an object store. */
export function createObjectCloneFolder(
  store: ObjectStore,
  { scheme, bucket, path: root }: ObjectAddress,
): CloneFolder {
  const keyOf = (path: string): string => joinKey(root, path);
  async function* list(path: string): AsyncGenerator<CloneFile> {
    for await (const { key, bytes } of store.list(`${keyOf(path)}/`)) {
      yield {
        path: root === '' ? key : key.slice(root.length + 1),
        bytes,
        at: { kind: 'object', scheme, bucket, key },
        readPart: async (...range) => (await store.getRange(key, ...range))?.content ?? Buffer.alloc(0),
      };
    }
  }
  return {
    prepare: async () => {},
    read: async (path) => store.get(keyOf(path)),
    list,
    async add(path, file) {
      const { at } = file;
      // The same scheme means the same store, which can copy by itself.
      if (at.kind === 'object' && at.scheme === scheme) await store.copy({ ...at, bytes: file.bytes }, keyOf(path));
      else await store.upload(keyOf(path), file);
    },
    put: async (path, content) => store.put(keyOf(path), content),
    remove: async () => removePrefix(store, root),
  };
}

const PAGE = 1000;

/** Removes all objects below a path. */
export async function removePrefix(store: ObjectStore, path: string): Promise<void> {
  let page: string[] = [];
  for await (const { key } of store.list(`${path}/`)) {
    page.push(key);
    if (page.length < PAGE) continue;
    await store.remove(page);
    page = [];
  }
  await store.remove(page);
}
