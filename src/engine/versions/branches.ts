import { ServiceError, invalidInput } from '../../errors/service-error.ts';
import { quoteForMessage } from '../../model/identifier.ts';
import { branchNotFound } from '../../model/refusals.ts';
import { MAIN_BRANCH } from '../../model/table.ts';
import type { TableLocation, TableState } from '../../model/table.ts';
import { engineCall, retryListing } from '../native/engine-errors.ts';
import type { NativeBranch, NativeBranches } from '../native/native.ts';
import { BRANCH_LENGTH_MAX } from '../tables/open-tables.ts';
import type { OpenTables } from '../tables/open-tables.ts';
import { ALWAYS, listTagTargets, readWithin, unlessDeleted } from './tags.ts';
import { requireKept } from './removals.ts';
import type { Confirm, NameWindow, Pin } from './tags.ts';
import { readVersions } from './version-list.ts';

export function createBranches(tables: OpenTables) {
  return {
    async listBranches(location: TableLocation, window: NameWindow) {
      const found = await useBranches(tables, location, listAll);
      return readWithin(Object.keys(found), window, async (name) =>
        unlessDeleted('TableBranchNotFound', async () => completeBranch(tables, location, name, found[name])),
      );
    },
    identifyBranch: async (location: TableLocation, name: string) => identifyBranch(tables, location, name),
    createBranch: async (source: TableState, name: string, confirm = ALWAYS) =>
      createBranch(tables, source, name, confirm),
    removeBranch: async (location: TableLocation, name: string) => removeBranch(tables, location, name),
  };
}

async function listAll(branches: NativeBranches) {
  return retryListing(async () => branches.list());
}

async function completeBranch(
  tables: OpenTables,
  location: TableLocation,
  name: string,
  known: NativeBranch | undefined,
) {
  const createdAt = (await tables.storages.of(location.root).readRefFile(location, 'branches', name))?.['createAt'];
  return {
    name,
    /** `undefined` for the main branch. */
    parentBranch: known?.parentBranch ?? undefined,
    parentVersion: known?.parentVersion ?? 0,
    createdAtSeconds: typeof createdAt === 'number' ? createdAt : await firstCommit(tables, location, name),
    manifestBytes: known?.manifestSize ?? 0,
  };
}

/** The versions that branches fork from. */
export async function listBranchForks(tables: OpenTables, location: TableLocation): Promise<readonly Pin[]> {
  const found = await useBranches(tables, location, listAll);
  return Object.entries(found).map(([name, { parentBranch, parentVersion }]) => ({
    kind: 'branch',
    name,
    branch: parentBranch ?? undefined,
    version: parentVersion,
  }));
}

/** Differs for another branch created under the same name. Refuses a branch that does not exist. */
export async function identifyBranch(tables: OpenTables, location: TableLocation, name: string): Promise<string> {
  if (Buffer.byteLength(name) > BRANCH_LENGTH_MAX) throw branchNotFound(name);
  const file = await tables.storages.of(location.root).readRefFile(location, 'branches', name);
  if (file !== undefined) return JSON.stringify([file['identifier'], file['createAt']]);
  const listed = await useBranches(tables, location, listAll);
  if (Object.hasOwn(listed, name)) return JSON.stringify(listed[name]);
  // Refuses an invalid branch name.
  await tables.usePrivate({ location, branch: name }, async () => {});
  // An interrupted deletion may have left its files.
  throw branchNotFound(name);
}

/**
 * Forks from a state of the same table and returns its version: the first version of the branch has the same number.
 */
async function createBranch(tables: OpenTables, source: TableState, name: string, confirm: Confirm): Promise<number> {
  const { location } = source;
  return useBranches(tables, location, async (branches) => {
    // The engine would write into an existing branch, and then fail with an unclear message.
    const others = Object.keys(await listAll(branches));
    if (name === MAIN_BRANCH || others.includes(name)) {
      throw new ServiceError('TableBranchAlreadyExists', `The branch ${quoteForMessage(name)} already exists.`);
    }
    // If the source is missing, the engine would also leave an unfinished branch behind.
    const version = await tables.usePrivate(source, async (table) => table.version());
    await requireKept(tables, source, version);
    // Leftovers of a killed deletion, or of an earlier release.
    if ((await tables.findLatestVersion({ location, branch: name })) !== undefined) {
      await confirm();
      await tables.storages.of(location.root).removeBranch(location, name, others);
    }
    await tables.withStagedRefs(location, async () => {
      (await branches.create(name, source.branch ?? null, version)).close();
    });
    return version;
  });
}

/** Returns the version that the branch forked from. */
async function removeBranch(tables: OpenTables, location: TableLocation, name: string): Promise<number> {
  if (name === MAIN_BRANCH) {
    throw invalidInput('The main branch cannot be deleted.', 'Drop the table instead.');
  }
  return useBranches(tables, location, async (branches) => {
    const found = await listAll(branches);
    if (!Object.hasOwn(found, name)) throw branchNotFound(name);
    await refuseTagged(tables, location, name);
    await branches.delete(name);
    // If another branch's path is below it, the engine keeps its files, and would open it as before.
    const below = Object.keys(found).filter((other) => other.startsWith(`${name}/`));
    if (below.length > 0) await tables.storages.of(location.root).removeBranch(location, name, below);
    return found[name]?.parentVersion ?? 0;
  });
}

async function useBranches<Value>(
  tables: OpenTables,
  location: TableLocation,
  work: (branches: NativeBranches) => Promise<Value>,
): Promise<Value> {
  return tables.usePrivate({ location }, async ({ native }) => engineCall(async () => work(await native.branches())));
}

/** The engine would delete the branch, and leave a tag without a target, or one that later refers to other data. */
async function refuseTagged(tables: OpenTables, location: TableLocation, branch: string): Promise<void> {
  const tag = (await listTagTargets(tables, location)).find((each) => each.branch === branch);
  if (tag === undefined) return;
  throw new ServiceError(
    'InvalidTableState',
    `The branch ${quoteForMessage(branch)} is used by the tag ${quoteForMessage(tag.name)}.`,
    { hint: 'Delete the tag first.' },
  );
}

/** The first version of a branch is committed when the branch is created. */
async function firstCommit(tables: OpenTables, location: TableLocation, branch: string): Promise<number> {
  const versions = await tables.usePrivate({ location, branch }, async ({ native }) => readVersions(native));
  const [first] = versions;
  if (first === undefined) throw branchNotFound(branch);
  return Math.floor(first.timestamp / 1_000_000);
}
