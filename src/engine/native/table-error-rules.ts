import { quoteForMessage } from '../../model/identifier.ts';
import type { ErrorRule } from './error-rule.ts';

/** Of versions, tags and branches. */
export const HISTORY_RULES: readonly ErrorRule[] = [
  {
    name: 'version-missing',
    blames: 'caller',
    pattern: /_versions\/(\d+)\.manifest was not found/,
    kind: 'TableVersionNotFound',
    sentence: (version) => `The table has no version ${version}.`,
  },
  {
    name: 'branch-missing',
    blames: 'caller',
    pattern: /^(?:lance error: )?Not found: .*\/tree\/(.+)\/_versions,/,
    kind: 'TableBranchNotFound',
    sentence: (branch) => `The branch ${quoteForMessage(branch ?? '')} was not found.`,
  },
  {
    name: 'branch-invalid',
    blames: 'caller',
    pattern: /Ref is invalid: |^Invalid input, branch name must be/,
    kind: 'InvalidInput',
    sentence: () => 'The branch name is not valid.',
    hint: 'A branch name has letters, digits, ".", "-", "_" and "/" between its parts.',
  },
  {
    name: 'tagged-cleanup',
    blames: 'service',
    pattern: /^(?:lance error: )?Cleanup error: \d+ tagged version/,
    kind: 'ConcurrentModification',
    sentence: () => 'A tag was put on a version that was about to be removed.',
    retryAfterSeconds: 1,
  },
  {
    name: 'tag-missing',
    blames: 'caller',
    pattern: /^(?:lance error: )?Ref not found error: tag (\S+) does not exist/,
    kind: 'TableTagNotFound',
    sentence: (tag) => `The tag ${quoteForMessage(tag ?? '')} was not found.`,
  },
  {
    name: 'tag-exists',
    blames: 'caller',
    pattern: /^(?:lance error: )?Ref conflict error: tag (\S+) already exists/,
    kind: 'TableTagAlreadyExists',
    sentence: (tag) => `The tag ${quoteForMessage(tag ?? '')} already exists.`,
  },
  {
    name: 'tagged-version-missing',
    blames: 'caller',
    pattern: /^(?:lance error: )?Version not found error: version \S+:(\d+) does not exist/,
    kind: 'TableVersionNotFound',
    sentence: (version) => `The table has no version ${version} on this branch.`,
  },
  {
    // Only when another process made the branch since the service looked.
    name: 'branch-exists',
    blames: 'service',
    pattern: /^(?:lance error: )?Encountered internal error\. .*Clone operation should not enter build_manifest/,
    kind: 'TableBranchAlreadyExists',
    sentence: () => 'The branch already exists.',
  },
  {
    name: 'branch-needed',
    blames: 'caller',
    pattern: /^(?:lance error: )?Ref conflict error: Branch (\S+) is referenced by /,
    kind: 'InvalidTableState',
    sentence: (branch) => `Other branches start at the branch ${quoteForMessage(branch ?? '')}.`,
    hint: 'Delete those branches first.',
  },
];

/** Of changes to columns. */
export const COLUMN_RULES: readonly ErrorRule[] = [
  {
    name: 'column-type-change',
    blames: 'caller',
    pattern: /^(?:lance error: )?Invalid user input: Cannot cast column "(.*?)" from /,
    kind: 'InvalidInput',
    sentence: (column) => `The column ${quoteForMessage(column ?? '')} cannot be changed to that type.`,
    hint: 'A type changes within its family only: integers, floats, texts, binaries, or vectors of one length.',
  },
  {
    name: 'column-type-indexed',
    blames: 'caller',
    pattern: /^(?:lance error: )?Invalid user input: Cannot cast column\(s\) \[(.*?)\] to a new type: they have /,
    kind: 'InvalidInput',
    sentence: (column) =>
      `The type of the column ${quoteForMessage(column ?? '')} cannot change while it has an index.`,
    hint: 'Drop the index first.',
  },
  {
    name: 'column-has-nulls',
    blames: 'caller',
    pattern:
      /^(?:lance error: )?Invalid user input: Column "(.*?)" contains NULL values and cannot be made non-nullable/,
    kind: 'TableSchemaValidationError',
    sentence: (column) =>
      `The column ${quoteForMessage(column ?? '')} holds nulls, so it cannot be made to refuse them.`,
  },
];

/** Of indexes. */
export const INDEX_RULES: readonly ErrorRule[] = [
  {
    name: 'index-missing',
    blames: 'caller',
    pattern: /^(?:lance error: )?Lance index not found: name=(.*?), \//,
    kind: 'TableIndexNotFound',
    sentence: (name) => indexNotFound(name ?? ''),
  },
  {
    name: 'index-name-taken',
    blames: 'caller',
    pattern: /^(?:lance error: )?LanceError\(Index\): Index name '(.*)' already exists/,
    kind: 'TableIndexAlreadyExists',
    sentence: (name) => `The index ${quoteForMessage(name ?? '')} already exists, on another column.`,
    hint: 'Give another name, or drop that index first.',
  },
  {
    name: 'index-column-type',
    blames: 'caller',
    pattern: /^Schema Error: A ([\w ]+) index cannot be created on the field/,
    kind: 'InvalidInput',
    sentence: (type) => `A ${type} index cannot be made on a column of this type.`,
  },
  {
    name: 'index-rows-missing',
    blames: 'caller',
    pattern: /Not enough rows to train PQ\. Requires (\d+) rows but only (\d+) available/,
    kind: 'InvalidInput',
    sentence: (wanted, given) => `The index learns from at least ${wanted} vectors, and the table has ${given}.`,
    hint: 'Insert more rows, or use IVF_FLAT or IVF_HNSW_SQ.',
  },
  {
    name: 'index-vectors-missing',
    blames: 'caller',
    pattern: /KMeans cannot train (\d+) centroids with (\d+) vectors/,
    kind: 'InvalidInput',
    sentence: (partitions, vectors) =>
      `The index cannot have ${partitions} partitions: the table has ${vectors} vectors to learn from.`,
    hint: 'Vectors that are null or not finite do not count, nor do zero vectors with the distance type cosine.',
  },
];

export function indexNotFound(name: string): string {
  return `The table has no index ${quoteForMessage(name)}.`;
}
