import type { JournalEntry, NewEntry } from '../../catalog/catalog.ts';
import type { Engine, WriteTarget } from '../../engine/engine.ts';
import type { ServiceError } from '../../errors/service-error.ts';
import type { Commit, CommitKind } from '../../model/table.ts';
import type { InspectedCommit } from '../../storage/storage.ts';
import type { Storages } from '../../storage/storages.ts';
import { readExpectation } from '../journal-entries.ts';
import type { Expectation } from '../journal-entries.ts';
import type { Fences } from './fences.ts';
import { malformed, dataNotStored } from '../refusals.ts';
import type { Fields, FieldsRule } from '../write.ts';

/** Finds and restores the data of tables. */
export interface TableAccess {
  readonly engine: Engine;
  readonly storages: Storages;
}

export interface VerifyParts extends TableAccess {
  readonly fences: Fences;
}

/** The range of versions that may contain the commit of an entry. */
type EntryRange = Pick<NewEntry, 'baseVersion'> & Partial<Pick<JournalEntry, 'boundVersion'>>;

export interface FoundCommit {
  readonly kind: 'committed';
  readonly commit: Commit;
  readonly rowsBefore: number | undefined;
}

export type Verdict = FoundCommit | { readonly kind: 'not-committed' | 'unknown' };

/** Looks for the commit of an entry. Call it in the table's queue, or before any other write can run. */
export async function findCommit(
  { storages }: Pick<TableAccess, 'storages'>,
  target: WriteTarget,
  entry: EntryRange & Pick<NewEntry, 'expected'>,
): Promise<Verdict> {
  const { baseVersion } = entry;
  // The base version itself has the number of rows before the write.
  const commits = await storages.of(target.location.root).readCommits(target.location, target.branch, baseVersion - 1);
  return commits === undefined ? { kind: 'unknown' } : judge(commits, entry, readExpectation(entry));
}

/**
 * Like `findCommit`, but final: if the commit is missing, fences it off, because it may still be on its way, and looks
 * again. Only for a table that this process owns.
 */
export async function findOrFenceCommit(
  parts: VerifyParts,
  target: WriteTarget,
  entry: EntryRange & Pick<NewEntry, 'expected' | 'tableId' | 'epoch'>,
): Promise<Verdict> {
  const verdict = await findCommit(parts, target, entry);
  if (verdict.kind !== 'not-committed') return verdict;
  const fenceVersion = await parts.fences.fence(target, entry);
  if (fenceVersion === undefined) return verdict;
  return findCommit(parts, target, {
    ...entry,
    boundVersion: Math.min(entry.boundVersion ?? Infinity, fenceVersion - 1),
  });
}

/** The commits after the base version, up to this one: none if the write adds nothing, up to two for columns. */
interface CommitRange {
  readonly base: number;
  readonly version: number;
  /** Rows that the commits must have stored, if known. */
  readonly storedRows?: number | undefined;
}

/** Why the engine's commits are unusable: truncated files or missing rows. */
export async function findFault(
  storages: Storages,
  { location, branch }: WriteTarget,
  { base, version, storedRows }: CommitRange,
): Promise<ServiceError | undefined> {
  const storage = storages.of(location.root);
  let last: InspectedCommit | undefined;
  for (let each = base + 1; each <= version; each += 1) {
    last = await storage.inspectCommit(location, branch, each);
    if (last?.isIntact === false) return dataNotStored();
  }
  const isShort = last !== undefined && storedRows !== undefined && last.addedRows !== storedRows;
  return isShort ? malformed() : undefined;
}

/**
 * Decides from the manifests after the base version whether a write was committed (invariant 13). The engine exposes no
 * transaction id, so a commit is recognized by its kind, the version that it read, and its rows. No other write runs in
 * the queue meanwhile, but other programs may write: with several candidates the verdict is unknown.
 */
export function judge(commits: readonly Commit[], range: EntryRange, expected: Expectation): Verdict {
  const { baseVersion, boundVersion = Infinity } = range;
  const isLate = ({ readVersion }: Commit): boolean =>
    readVersion === baseVersion && boundVersion > baseVersion && passesFences(expected.kinds);
  const later = commits.filter((commit) => {
    return commit.version > baseVersion && (commit.version <= boundVersion || isLate(commit));
  });
  const [first, second] = later.filter((commit) => isCandidate(commit, baseVersion, expected));
  if (first === undefined) return { kind: 'not-committed' };
  const isTakenBack =
    !expected.kinds.includes('restore') && later.some((commit) => hasReverted(commit, first, baseVersion));
  if (isTakenBack) return { kind: 'not-committed' };
  if (second !== undefined || first.kind === 'unknown' || !isExact(first, expected)) return { kind: 'unknown' };
  const rowsBefore = commits.find(({ version }) => version === first.version - 1)?.rows;
  return { kind: 'committed', commit: first, rowsBefore };
}

/**
 * These replace all rows or touch none, so the engine commits them over a fence. They can therefore follow writes that
 * began later; the version that they read distinguishes them.
 */
const UNFENCED: ReadonlySet<CommitKind> = new Set(['overwrite', 'config']);

export function passesFences(kinds: readonly CommitKind[]): boolean {
  return kinds.some((kind) => UNFENCED.has(kind));
}

/** Whether a later restore has undone the write. Other programs may restore versions older than the base. */
function hasReverted({ kind, restoredVersion = 0, version }: Commit, write: Commit, baseVersion: number): boolean {
  const isOurs = restoredVersion >= baseVersion && restoredVersion < write.version;
  return kind === 'restore' && version > write.version && isOurs;
}

function isCandidate(commit: Commit, baseVersion: number, expected: Expectation): boolean {
  const { kind, readVersion, transactionId } = commit;
  if (expected.transactionId !== undefined) return transactionId === expected.transactionId;
  if (kind === 'unknown') return true;
  // An earlier read version means an external writer's commit.
  if (!expected.kinds.includes(kind) || readVersion < baseVersion) return false;
  // On the base version itself the row count is known; a commit with another count is an external writer's.
  return readVersion > baseVersion || isExact(commit, expected);
}

function isExact({ addedRows }: Commit, expected: Expectation): boolean {
  return expected.addedRows === undefined || addedRows === undefined || expected.addedRows === addedRows;
}

/** The fields of the reply that the commit itself contains. */
export function rebuildFields(
  rule: FieldsRule,
  { addedRows, rows }: Pick<Commit, 'addedRows' | 'rows'>,
  rowsBefore: number | undefined,
): Fields {
  const grown = rows === undefined || rowsBefore === undefined ? undefined : rows - rowsBefore;
  switch (rule.from) {
    case 'values':
      return rule.fields;
    case 'added-rows':
      return named(rule.names, addedRows);
    case 'removed-rows':
      return named(rule.names, grown === undefined ? undefined : 0 - grown);
    case 'upsert':
      if (grown === undefined || addedRows === undefined) return {};
      return {
        num_inserted_rows: grown,
        num_updated_rows: addedRows - grown,
        num_deleted_rows: 0,
        num_attempts: 1,
        num_rows: addedRows,
      };
    case 'nothing':
      return {};
  }
}

function named(names: readonly string[], value: number | undefined): Fields {
  return value === undefined ? {} : Object.fromEntries(names.map((name) => [name, value]));
}
