import { isMaintenance } from '../model/commit.ts';
import type { Commit, CommitKind } from '../model/commit.ts';
import type { TableState } from '../model/table.ts';
import { engineCall } from './engine-errors.ts';
import type { OpenTables } from './open-tables.ts';

/** A write of rows of which it is not known whether it was committed. */
export interface UncertainWrite {
  /** The latest version when it had its turn. */
  readonly after: number;
  /** The latest version when the next write had its turn; `Infinity` when there was none. */
  readonly upTo: number;
  /** What its commit can be. */
  readonly kinds: readonly CommitKind[];
}

/** The version of a write that was cut short; `undefined` when it was not committed. */
export async function lookForLanded(
  tables: OpenTables,
  state: TableState,
  write: UncertainWrite,
): Promise<number | undefined> {
  const { place, branch } = state;
  const commits = await tables.storages.of(place.root).readCommits(place, branch, write.after);
  if (commits !== undefined) return findLanded(commits, write);
  // On an object store the numbers have to do, though upkeep raises them too.
  const version = await tables.useAlone(state, async ({ native }) => engineCall(async () => native.version()));
  return Math.min(version, write.upTo) > write.after ? write.after + 1 : undefined;
}

/**
 * The version of a write, if it was committed. In the lane of its table nobody else writes rows in its turn; what upkeep
 * and index builds commit beside the lane is known by its kind. So the first commit after its turn began that is not of
 * those is its own, or it has none. A long insert has several; one that failed has taken them back.
 */
export function findLanded(commits: readonly Commit[], { after, upTo, kinds }: UncertainWrite): number | undefined {
  const candidates = commits.filter(({ version, kind }) => version > after && version <= upTo && !isMaintenance(kind));
  let landed: number | undefined;
  for (const { version, kind, readVersion, restoredVersion } of candidates) {
    if (kind === 'restore' && restoredVersion === after) return undefined;
    // Whoever had read an earlier version is another program.
    if (!kinds.includes(kind) || readVersion < after) break;
    landed = version;
    if (kind !== 'append' && kind !== 'overwrite') break;
  }
  return landed;
}
