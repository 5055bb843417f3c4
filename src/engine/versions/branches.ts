import { ServiceError } from '../../errors/service-error.ts';
import { quoteForMessage } from '../../model/identifier.ts';
import { branchNotFound } from '../../model/refusals.ts';
import { MAIN_BRANCH } from '../../model/table.ts';
import type { TableLocation, TableState } from '../../model/table.ts';
import { engineCall } from '../native/engine-errors.ts';
import type { NativeBranch, NativeBranches } from '../native/native.ts';
import type { OpenTables } from '../tables/open-tables.ts';
import { listTagTargets, namesWithin } from './tags.ts';
import type { NameWindow, Pin } from './tags.ts';

export interface Branch {
  readonly name: string;
  /** Absent for the main branch. */
  readonly parentBranch: string | undefined;
  readonly parentVersion: number;
  readonly createdAtSeconds: number;
  readonly manifestBytes: number;
}

export async function listBranches(
  tables: OpenTables,
  location: TableLocation,
  window: NameWindow,
): Promise<readonly Branch[]> {
  const found = await useBranches(tables, location, async (branches) => branches.list());
  const names = namesWithin(Object.keys(found), window);
  return Promise.all(names.map(async (name) => toBranch(tables, location, { name, known: found[name] })));
}

/** Starts at a state of the same table, and gives its version: the first one of the branch has the same number. */
export async function createBranch(tables: OpenTables, source: TableState, name: string): Promise<number> {
  return useBranches(tables, source.location, async (branches) => {
    // The engine would write into the branch that is there, and then fail in words of its own.
    if (name === MAIN_BRANCH || Object.hasOwn(await branches.list(), name)) throw branchExists(name);
    // It would also leave an unfinished branch behind when the source is not there.
    const version = await tables.usePrivate(source, async ({ native }) => engineCall(async () => native.version()));
    const made = await branches.create(name, source.branch ?? null, version);
    made.close();
    return version;
  });
}

/** Gives the version that the branch started at. */
export async function removeBranch(tables: OpenTables, location: TableLocation, name: string): Promise<number> {
  if (name === MAIN_BRANCH) {
    throw new ServiceError('InvalidInput', 'The main branch cannot be deleted.', { hint: 'Drop the table instead.' });
  }
  return useBranches(tables, location, async (branches) => {
    const found = await branches.list();
    if (!Object.hasOwn(found, name)) throw branchNotFound(name);
    await refuseTagged(tables, location, name);
    await branches.delete(name);
    return found[name]?.parentVersion ?? 0;
  });
}

/** The versions that branches started at. */
export async function listBranchForks(tables: OpenTables, location: TableLocation): Promise<readonly Pin[]> {
  const found = await useBranches(tables, location, async (branches) => branches.list());
  return Object.entries(found).map(([name, { parentBranch, parentVersion }]) => ({
    kind: 'branch',
    name,
    branch: parentBranch ?? undefined,
    version: parentVersion,
  }));
}

async function useBranches<Value>(
  tables: OpenTables,
  location: TableLocation,
  work: (branches: NativeBranches) => Promise<Value>,
): Promise<Value> {
  return tables.usePrivate({ location, branch: undefined, version: undefined }, async ({ native }) =>
    engineCall(async () => work(await native.branches())),
  );
}

/** The engine would let it go, and leave a tag that leads nowhere, or one day to other data. */
async function refuseTagged(tables: OpenTables, location: TableLocation, branch: string): Promise<void> {
  const tag = (await listTagTargets(tables, location)).find((each) => each.branch === branch);
  if (tag === undefined) return;
  throw new ServiceError(
    'InvalidTableState',
    `The branch ${quoteForMessage(branch)} is kept by the tag ${quoteForMessage(tag.name)}.`,
    { hint: 'Delete the tag first.' },
  );
}

interface FoundBranch {
  readonly name: string;
  readonly known: NativeBranch | undefined;
}

async function toBranch(tables: OpenTables, location: TableLocation, { name, known }: FoundBranch): Promise<Branch> {
  const file = await tables.storages.of(location.root).readRefFile(location, 'branches', name);
  const createdAt = file?.['createAt'];
  return {
    name,
    parentBranch: known?.parentBranch ?? undefined,
    parentVersion: known?.parentVersion ?? 0,
    createdAtSeconds: typeof createdAt === 'number' ? createdAt : await firstCommit(tables, location, name),
    manifestBytes: known?.manifestSize ?? 0,
  };
}

/** The first version of a branch is written when the branch is made. */
async function firstCommit(tables: OpenTables, location: TableLocation, branch: string): Promise<number> {
  const versions = await tables.usePrivate({ location, branch, version: undefined }, async ({ native }) =>
    engineCall(async () => native.listVersions()),
  );
  return Math.floor((versions[0]?.timestamp ?? 0) / 1_000_000);
}

function branchExists(name: string): ServiceError {
  return new ServiceError('TableBranchAlreadyExists', `The branch ${quoteForMessage(name)} already exists.`);
}
