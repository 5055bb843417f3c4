import type { ErrorRules } from './error-rule.ts';

const STORAGE = String.raw`^(?:Failed to [^:]+: (?:GenericFailure, )?)?(?:lance error: )?LanceError\(IO\): [^'"]*`;

/** Failures of storage and commits, and those about versions, tags, branches, indexes and columns. */
export const TABLE_ERROR_RULES: ErrorRules = {
  'storage-full': {
    blames: 'service',
    pattern: new RegExp(String.raw`${STORAGE}\(os error (?:28|122)\)`),
    kind: 'ServiceUnavailable',
    message: 'The storage is full.',
    retryAfterSeconds: 30,
  },
  'storage-not-writable': {
    blames: 'service',
    pattern: new RegExp(String.raw`${STORAGE}\(os error (?:1|13|30)\)`),
    kind: 'ServiceUnavailable',
    message: 'The storage does not let the service read or write.',
    retryAfterSeconds: 30,
  },
  'object-store': {
    blames: 'service',
    pattern: new RegExp(String.raw`${STORAGE}Generic (?:S3|GCS|MicrosoftAzure|HTTP)\w* error: `),
    kind: 'ServiceUnavailable',
    message: 'The object store cannot be reached.',
    retryAfterSeconds: 5,
  },
  'commit-conflict': {
    blames: 'service',
    pattern: /^[^'"]*?(?:Retryable commit conflict|Incompatible transaction: |Concurrent modification: )/,
    kind: 'ConcurrentModification',
    message: 'Other writers changed the table at the same time.',
    retryAfterSeconds: 1,
  },
  // The engine retries a conflict for 30 seconds: it takes many other writing processes to get here.
  'commit-starved': {
    blames: 'service',
    pattern: /^[^'"]*?Too many concurrent writers/,
    kind: 'ConcurrentModification',
    message: 'Too many writers are changing the table at the same time.',
    retryAfterSeconds: 5,
  },
  'version-missing': {
    pattern: /_versions\/(\d+)\.manifest was not found/,
    kind: 'TableVersionNotFound',
    message: 'The table has no version $1.',
  },
  'branch-missing': {
    pattern: /^(?:lance error: )?Not found: .*\/tree\/(.+)\/_versions,/,
    kind: 'TableBranchNotFound',
    message: 'The branch {1} was not found.',
  },
  'branch-invalid': {
    pattern: /Ref is invalid: |^Invalid input, branch name must be/,
    kind: 'InvalidInput',
    message: 'The branch name is not valid.',
    hint: 'A branch name has letters, digits, ".", "-", "_" and "/" between its parts.',
  },
  'tagged-cleanup': {
    blames: 'service',
    pattern: /^(?:lance error: )?Cleanup error: \d+ tagged version/,
    kind: 'ConcurrentModification',
    message: 'A tag was put on a version that was about to be removed.',
    retryAfterSeconds: 1,
  },
  'tag-missing': {
    pattern: /^(?:lance error: )?Ref not found error: tag (\S+) does not exist/,
    kind: 'TableTagNotFound',
    message: 'The tag {1} was not found.',
  },
  'tag-exists': {
    pattern: /^(?:lance error: )?Ref conflict error: tag (\S+) already exists/,
    kind: 'TableTagAlreadyExists',
    message: 'The tag {1} already exists.',
  },
  'tagged-version-missing': {
    pattern: /^(?:lance error: )?Version not found error: version \S+:(\d+) does not exist/,
    kind: 'TableVersionNotFound',
    message: 'The table has no version $1 on this branch.',
  },
  // Only when another process created the branch since the service looked.
  'branch-exists': {
    blames: 'service',
    pattern: /^(?:lance error: )?Encountered internal error\. .*Clone operation should not enter build_manifest/,
    kind: 'TableBranchAlreadyExists',
    message: 'The branch already exists.',
  },
  'branch-needed': {
    pattern: /^(?:lance error: )?Ref conflict error: Branch (\S+) is referenced by /,
    kind: 'InvalidTableState',
    message: 'Other branches start at the branch {1}.',
    hint: 'Delete those branches first.',
  },
  'index-missing': {
    pattern: /^(?:lance error: )?Lance index not found: name=(.*?), \//,
    kind: 'TableIndexNotFound',
    message: 'The table has no index {1}.',
  },
  'index-name-taken': {
    pattern: /^(?:lance error: )?LanceError\(Index\): Index name '(.*)' already exists/,
    kind: 'TableIndexAlreadyExists',
    message: 'The index {1} already exists, on another column.',
    hint: 'Give another name, or drop that index first.',
  },
  'index-column-type': {
    pattern: /^Schema Error: A ([\w ]+) index cannot be created on the field/,
    kind: 'InvalidInput',
    message: 'A $1 index cannot be made on a column of this type.',
  },
  'index-rows-missing': {
    pattern: /Not enough rows to train PQ\. Requires (\d+) rows but only (\d+) available/,
    kind: 'InvalidInput',
    message: 'The index learns from at least $1 vectors, and the table has $2.',
    hint: 'Insert more rows, or use IVF_FLAT or IVF_HNSW_SQ.',
  },
  'index-vectors-missing': {
    pattern: /KMeans cannot train (\d+) centroids with (\d+) vectors/,
    kind: 'InvalidInput',
    message: 'The index cannot have $1 partitions: the table has $2 vectors to learn from.',
    hint: 'Vectors that are null or not finite do not count, nor do zero vectors with the distance type cosine.',
  },
  'column-type-change': {
    pattern: /^(?:lance error: )?Invalid user input: Cannot cast column "(.*?)" from /,
    kind: 'InvalidInput',
    message: 'The column {1} cannot be changed to that type.',
    hint: 'A type changes within its family only: integers, floats, texts, binaries, or vectors of one length.',
  },
  'column-type-indexed': {
    pattern: /^(?:lance error: )?Invalid user input: Cannot cast column\(s\) \[(.*?)\] to a new type: they have /,
    kind: 'InvalidInput',
    message: 'The type of the column {1} cannot change while it has an index.',
    hint: 'Drop the index first.',
  },
  'column-has-nulls': {
    pattern:
      /^(?:lance error: )?Invalid user input: Column "(.*?)" contains NULL values and cannot be made non-nullable/,
    kind: 'TableSchemaValidationError',
    message: 'The column {1} holds nulls, so it cannot be made to refuse them.',
  },
  'table-missing': {
    blames: 'service',
    pattern: /^Table '[^']*' was not found/,
    kind: 'TableNotFound',
    message: 'The data of the table was not found.',
  },
  // The engine blames its caller for a file that is not a Lance file.
  'data-damaged': {
    pattern:
      /^(?:Failed to [^:]+: (?:GenericFailure, )?)?(?:lance error: )?Invalid user input: file does not appear to be/,
    kind: 'Internal',
    message: 'The data of the table cannot be read.',
  },
  'data-missing': {
    blames: 'service',
    pattern: /^[^'"]*?(?:Not found: |Object at location )\S*\/(?:data|_deletions|_indices|_versions)\b/,
    kind: 'Internal',
    message: 'The data of this version of the table is gone.',
  },
  closed: {
    blames: 'service',
    pattern: /^(?:Table \S+ is closed|Connection is closed)/,
    kind: 'ServiceUnavailable',
    message: 'The service is shutting down.',
    retryAfterSeconds: 1,
  },
  // Only while a failed overwrite could not be undone and readers are held.
  'held-version': {
    pattern: /^Invalid input, table cannot be modified when a specific version is checked out/,
    kind: 'ServiceUnavailable',
    message: 'The table is held at an earlier version until it has been restored.',
    retryAfterSeconds: 30,
  },
  'query-timeout': {
    blames: 'service',
    pattern: /^[^'"]*?Query timeout after \d+ ms/,
    kind: 'ServiceUnavailable',
    message: 'The query took longer than allowed.',
    hint: 'Ask for fewer rows or add an index.',
  },
};
