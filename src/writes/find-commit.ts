import type { JournalEntry, NewEntry } from '../catalog/catalog.ts';
import type { Engine, WriteTarget } from '../engine/engine.ts';
import type { Storages } from '../storage/storages.ts';
import { readExpectation } from './journal-entries.ts';
import { judge } from './verify.ts';
import type { Verdict } from './verify.ts';

export interface FindCommitParts {
  readonly engine: Pick<Engine, 'findLatestVersion'>;
  readonly storages: Storages;
}

type FoundEntry = Pick<NewEntry, 'baseVersion' | 'expected'> & Partial<Pick<JournalEntry, 'boundVersion'>>;

/** Looks for the commit of an entry. To be called in the table's queue, or before anyone else can write. */
export async function findCommit(
  { engine, storages }: FindCommitParts,
  target: WriteTarget,
  entry: FoundEntry,
): Promise<Verdict> {
  const { baseVersion, boundVersion } = entry;
  // The base version itself tells how many rows there were before.
  const commits = await storages.of(target.location.root).readCommits(target.location, target.branch, baseVersion - 1);
  if (commits !== undefined) return judge(commits, { baseVersion, boundVersion }, readExpectation(entry));
  const latest = (await engine.findLatestVersion(target)) ?? 0;
  // Where manifests cannot be read the version alone has to do, though maintenance raises it too.
  if (Math.min(latest, boundVersion ?? Infinity) <= baseVersion) return { kind: 'not-committed' };
  return { kind: 'committed', commit: unseen(baseVersion + 1), rowsBefore: undefined };
}

function unseen(version: number) {
  const nothing = { restoredVersion: undefined, transactionId: undefined, addedRows: undefined, rows: undefined };
  return { version, kind: 'unknown' as const, readVersion: version - 1, ...nothing };
}
