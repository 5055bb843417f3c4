import { randomUUID } from 'node:crypto';
import type { JournalEntry, NewCommit, NewEntry } from '../catalog/catalog.ts';
import type { CommitKind, VersionMetadata } from '../model/table.ts';
import { MAIN_BRANCH } from '../model/table.ts';
import type { Fields, FieldsRule, JournaledWrite, ReplayableWrite } from './write.ts';

/** What the journal stores about a write before its commit, to recognize the commit later. */
export interface Expectation extends Partial<Pick<JournaledWrite, 'recordedAs' | 'properties'>> {
  /** The possible kinds of its commit. */
  readonly kinds: readonly CommitKind[];
  /** Rows that the commit adds for all writes of its batch, if known. */
  readonly addedRows?: number | undefined;
  /** The id of the transaction, if known in advance: no other commit can be taken for it. */
  readonly transactionId?: string | undefined;
  /** The write takes several commits, which are all undone after a failure. */
  readonly isMultiCommit?: true;
  /** The digest of the batch that the write belongs to. Only the entry of the whole batch has the key. */
  readonly batchDigest?: string;
  readonly rule: FieldsRule;
  readonly versionMetadata?: VersionMetadata | undefined;
}

type EntryFacts = Pick<NewEntry, 'baseVersion' | 'epoch' | 'generation'> & { readonly expected: Expectation };

export function toEntry(write: JournaledWrite, { expected, ...facts }: EntryFacts): NewEntry {
  const { request, table, branch, recordedAs, properties, versionMetadata } = write;
  const { operation, caller, requestId, key } = request;
  return {
    ...facts,
    id: randomUUID(),
    operation,
    caller,
    requestId,
    key,
    digest: request.digest(),
    databaseId: table.databaseId,
    tableId: table.id,
    path: table.path,
    branch,
    generation: key === undefined ? facts.generation : undefined,
    expected: JSON.stringify({ ...expected, recordedAs, properties, versionMetadata: versionMetadata?.() }),
    holdsReaders: expected.isMultiCommit === true,
  };
}

/** Larger outcomes are not stored: a replayed reply lacks these fields. */
const OUTCOME_CHARACTERS_MAX = 65_536;

export function toCommit(write: JournaledWrite, entry: NewEntry, version: number, fields: Fields): NewCommit {
  const { request, table, branch, recordedAs, properties } = write;
  const { caller, requestId } = request;
  const { id, epoch, holdsReaders } = entry;
  const outcome = JSON.stringify(fields);
  return {
    table,
    commit: { operation: recordedAs, caller, requestId, version, ...(branch === undefined ? {} : { branch }) },
    properties,
    versionMetadata: write.versionMetadata?.(),
    epoch,
    entry: { id, outcome: outcome.length > OUTCOME_CHARACTERS_MAX ? '{}' : outcome },
    releasesReaders: holdsReaders,
  };
}

/** Entries of older releases and of catalog transactions have none. */
export function readExpectation({ expected }: Pick<JournalEntry, 'expected'>): Expectation {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Only `toEntry` writes it.
  return { kinds: [], rule: { from: 'nothing' }, ...(JSON.parse(expected) as Partial<Expectation>) };
}

/** The replayed result of a committed entry. */
export function toReplayed({ id, key, version = 0, transactionId, outcome = '{}' }: JournalEntry): ReplayableWrite {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Only the pipeline writes it.
  const fields = JSON.parse(outcome) as Fields;
  return { kind: 'replayed', version, transactionId, properties: undefined, fields, response: { id, key } };
}

/** Identifies who wrote, and where. */
export function originOf(entry: Pick<NewEntry, 'caller' | 'tableId' | 'branch'>): string {
  return `${branchNameOf(entry)} ${entry.caller}`;
}

/** Identifies a branch of a table: writes to it are sequential. */
export function branchNameOf({ tableId, branch }: Pick<NewEntry, 'tableId' | 'branch'>): string {
  return `${tableId} ${branch ?? MAIN_BRANCH}`;
}
