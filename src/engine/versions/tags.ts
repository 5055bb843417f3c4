import { ServiceError } from '../../errors/service-error.ts';
import { isObjectRoot } from '../../model/table.ts';
import type { TableLocation } from '../../model/table.ts';
import { engineCall } from '../native/engine-errors.ts';
import type { NativeTag, NativeTags } from '../native/native.ts';
import type { OpenTables } from '../tables/open-tables.ts';
import type { TableRef, WriteTarget } from '../tables/table-handle.ts';

interface TagChange {
  readonly tag: string;
  readonly version: number;
}

/** A tag or a branch that needs a version of a branch, which is absent for the main one. */
export interface Pin {
  readonly kind: 'tag' | 'branch';
  readonly name: string;
  readonly branch: string | undefined;
  readonly version: number;
}

/** A page of names in alphabetical order. */
export interface NameWindow {
  readonly after?: string | undefined;
  readonly limit?: number | undefined;
}

export function createTags(tables: OpenTables) {
  return {
    listTags: async (location: TableLocation, window: NameWindow) => listTags(tables, location, window),
    requireTag: async (location: TableLocation, name: string) => requireTag(tables, location, name),
    createTag: async (target: WriteTarget, change: TagChange) => createTag(tables, target, change),
    updateTag: async (target: WriteTarget, { tag, version }: TagChange) =>
      useTags(tables, target, async (tags) => tags.update(tag, version)),
    /** Returns the tag as it was. */
    async removeTag(location: TableLocation, name: string) {
      const tag = await requireTag(tables, location, name);
      await useTags(tables, { location }, async (tags) => tags.delete(name));
      return tag;
    },
  };
}

/** An object store may keep the tag and lose its reply: the engine then sends it again, and finds that it exists. */
async function createTag(tables: OpenTables, target: WriteTarget, { tag, version }: TagChange): Promise<void> {
  const { location } = target;
  const storage = tables.storages.of(location.root);
  const before = isObjectRoot(location.root) ? await storage.readRefFile(location, 'tags', tag) : undefined;
  try {
    await useTags(tables, target, async (tags) => tags.create(tag, version));
  } catch (error) {
    const isTaken = error instanceof ServiceError && error.kind === 'TableTagAlreadyExists';
    if (!isTaken || !isObjectRoot(location.root) || before !== undefined) throw error;
    const after = await storage.readRefFile(location, 'tags', tag);
    if (after?.['version'] !== version) throw error;
  }
}

export async function listTagTargets(tables: OpenTables, location: TableLocation): Promise<readonly Pin[]> {
  const tags = await listTags(tables, location);
  return tags.map(({ name, branch, version }) => ({ kind: 'tag', name, branch, version }));
}

export function namesWithin(names: readonly string[], { after, limit }: NameWindow): readonly string[] {
  const wanted = names.filter((name) => after === undefined || name > after);
  return wanted.toSorted((one, other) => (one < other ? -1 : 1)).slice(0, limit);
}

async function listTags(tables: OpenTables, location: TableLocation, window: NameWindow = {}) {
  const found = await useTags(tables, { location }, async (tags) => tags.list());
  const names = namesWithin(Object.keys(found), window);
  return Promise.all(names.map(async (name) => completeTag(tables, location, name, found[name])));
}

async function requireTag(tables: OpenTables, location: TableLocation, name: string) {
  const version = await useTags(tables, { location }, async (tags) => tags.getVersion(name));
  return completeTag(tables, location, name, { version, manifestSize: 0 });
}

async function useTags<Value>(
  tables: OpenTables,
  ref: TableRef,
  work: (tags: NativeTags) => Promise<Value>,
): Promise<Value> {
  return tables.usePrivate(ref, async ({ native }) => engineCall(async () => work(await native.tags())));
}

/** The engine returns only a part of what it stores for a tag. The branch is `undefined` for the main one. */
async function completeTag(tables: OpenTables, location: TableLocation, name: string, known: NativeTag | undefined) {
  const file = await tables.storages.of(location.root).readRefFile(location, 'tags', name);
  const version = numberOf(file?.['version']) ?? known?.version ?? 0;
  const manifestBytes = numberOf(file?.['manifestSize']) ?? known?.manifestSize ?? 0;
  const branch = file === undefined ? await branchOf(tables, location, name) : textOf(file['branch']);
  // As RFC 3339.
  const createdAt = textOf(file?.['createdAt']);
  return { name, version, branch, manifestBytes, createdAt };
}

/** The engine checks out the branch of a tag together with the tag. A tag whose branch is gone has none. */
async function branchOf(tables: OpenTables, location: TableLocation, tag: string): Promise<string | undefined> {
  try {
    return await tables.usePrivate({ location }, async ({ native }) => {
      await engineCall(async () => native.checkoutTag(tag));
      return native.currentBranch() ?? undefined;
    });
  } catch (error) {
    if (error instanceof ServiceError && error.kind === 'TableVersionNotFound') return undefined;
    throw error;
  }
}

function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) ? value : undefined;
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
