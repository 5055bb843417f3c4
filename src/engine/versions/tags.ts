import { ServiceError } from '../../errors/service-error.ts';
import { quoteForMessage } from '../../model/identifier.ts';
import type { TableLocation } from '../../model/table.ts';
import type { TagFile } from '../../storage/storage.ts';
import type { TableUse } from '../native/connections.ts';
import { engineCall, retryListing } from '../native/engine-errors.ts';
import type { NativeTag, NativeTags } from '../native/native.ts';
import type { OpenTables } from '../tables/open-tables.ts';
import type { TableRef, WriteTarget } from '../tables/table-handle.ts';
import { requireKept } from './removals.ts';

interface TagChange {
  readonly tag: string;
  readonly version: number;
}

/** A tag or branch that needs a version of a branch, which is absent for the main branch. */
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

/**
 * Called right before a change that may arrive late at an object store; throws if another node owns the table by now.
 */
export type Confirm = () => Promise<void>;

export const ALWAYS: Confirm = async () => {};

export function createTags(tables: OpenTables) {
  return {
    listTags: async (location: TableLocation, window: NameWindow) => listTags(tables, location, window),
    requireTag: async (location: TableLocation, name: string) => requireTag(tables, location, name),
    async createTag(target: WriteTarget, { tag, version }: TagChange, confirm = ALWAYS) {
      await requireKept(tables, target, version);
      const file = await openTag(tables, target, tag);
      if (file === undefined) return useTags(tables, target, async (tags) => tags.create(tag, version), 'tags');
      if (file.exists) throw tagExists(tag);
      await confirm();
      if (!(await file.write({ branch: target.branch, version }))) throw tagExists(tag);
    },
    async updateTag(target: WriteTarget, { tag, version }: TagChange, confirm = ALWAYS) {
      await requireKept(tables, target, version);
      const file = await openTag(tables, target, tag);
      if (file === undefined) return useTags(tables, target, async (tags) => tags.update(tag, version), 'tags');
      if (!file.exists) throw tagNotFound(tag);
      await confirm();
      if (!(await file.write({ branch: target.branch, version }))) throw tagChanged(tag);
    },
    /** Returns the removed tag. */
    async removeTag(location: TableLocation, name: string, confirm = ALWAYS) {
      const file = await openTag(tables, { location }, name);
      const tag = await requireTag(tables, location, name);
      await confirm();
      if (file === undefined) await useTags(tables, { location }, async (tags) => tags.delete(name));
      else if (!(await file.remove())) throw tagChanged(name);
      return tag;
    },
  };
}

/** `undefined` if the engine changes tags itself. Refuses a branch that does not exist. */
async function openTag(tables: OpenTables, target: TableRef, name: string): Promise<TagFile | undefined> {
  const { location } = target;
  const { openTag: open } = tables.storages.of(location.root);
  if (open === undefined) return undefined;
  await tables.usePrivate(target, async () => {});
  return open(location, name);
}

function tagExists(name: string): ServiceError {
  return new ServiceError('TableTagAlreadyExists', `The tag ${quoteForMessage(name)} already exists.`);
}

function tagNotFound(name: string): ServiceError {
  return new ServiceError('TableTagNotFound', `The tag ${quoteForMessage(name)} was not found.`);
}

function tagChanged(name: string): ServiceError {
  const message = `The tag ${quoteForMessage(name)} was changed by another request at the same time.`;
  return new ServiceError('ConcurrentModification', message, { hint: 'Send the request again.', retryAfterSeconds: 1 });
}

export async function listTagTargets(tables: OpenTables, location: TableLocation): Promise<readonly Pin[]> {
  const tags = await listTags(tables, location);
  return tags.map(({ name, branch, version }) => ({ kind: 'tag', name, branch, version }));
}

/** Entries deleted meanwhile leave no gap in a page: a page that is not full is the last one. */
export async function readWithin<Entry extends object>(
  names: readonly string[],
  { after, limit = Infinity }: NameWindow,
  read: (name: string) => Promise<Entry | undefined>,
): Promise<readonly Entry[]> {
  const rest = names
    .filter((name) => after === undefined || name > after)
    .toSorted((one, other) => (one < other ? -1 : 1));
  const entries: Entry[] = [];
  while (rest.length > 0 && entries.length < limit) {
    const found = await Promise.all(rest.splice(0, limit - entries.length).map(read));
    entries.push(...found.filter((entry) => entry !== undefined));
  }
  return entries;
}

/** `undefined` if the tag or branch was deleted since it was listed. */
export async function unlessDeleted<Value>(
  kind: 'TableTagNotFound' | 'TableBranchNotFound',
  read: () => Promise<Value>,
): Promise<Value | undefined> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof ServiceError && error.kind === kind) return undefined;
    throw error;
  }
}

async function listTags(tables: OpenTables, location: TableLocation, window: NameWindow = {}) {
  const found = await useTags(tables, { location }, async (tags) => retryListing(async () => tags.list()));
  return readWithin(Object.keys(found), window, async (name) =>
    unlessDeleted('TableTagNotFound', async () => completeTag(tables, location, name, found[name])),
  );
}

async function requireTag(tables: OpenTables, location: TableLocation, name: string) {
  const version = await useTags(tables, { location }, async (tags) => retryListing(async () => tags.getVersion(name)));
  return completeTag(tables, location, name, { version, manifestSize: 0 });
}

async function useTags<Value>(
  tables: OpenTables,
  ref: TableRef,
  work: (tags: NativeTags) => Promise<Value>,
  use?: TableUse,
): Promise<Value> {
  return tables.usePrivate(ref, async ({ native }) => engineCall(async () => work(await native.tags())), use);
}

/** The engine returns only a part of what it stores for a tag. The branch is `undefined` for the main branch. */
async function completeTag(tables: OpenTables, location: TableLocation, name: string, known: NativeTag | undefined) {
  const file = await tables.storages.of(location.root).readRefFile(location, 'tags', name);
  const version = numberOf(file?.['version']) ?? known?.version ?? 0;
  const manifestBytes = numberOf(file?.['manifestSize']) ?? known?.manifestSize ?? 0;
  const branch = file === undefined ? await branchOf(tables, location, name) : textOf(file['branch']);
  // In RFC 3339.
  const createdAt = textOf(file?.['createdAt']);
  return { name, version, branch, manifestBytes, createdAt };
}

/** The engine checks out a tag together with its branch. A tag whose branch is gone has none. */
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
