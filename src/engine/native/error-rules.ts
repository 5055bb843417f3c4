import type { ErrorName } from '../../errors/service-error.ts';
import { STORE_REFUSALS } from '../../model/storage/store-refusals.ts';
import type { StoreRefusal } from '../../model/storage/store-refusals.ts';

/**
 * Recognizes one failure of the engine by its message. In our message, `$1` is a capture of the pattern, and `{1}` the
 * same in quotes: names and types, never paths or values of rows. Groups that did not take part in the match are not
 * counted.
 */
export interface ErrorRule {
  readonly blames: 'caller' | 'service';
  readonly pattern: RegExp;
  readonly kind: ErrorName;
  readonly message: string;
  /** Omitted if it names a capture that is missing. */
  readonly hint?: string | undefined;
  readonly retryAfterSeconds?: number | undefined;
}

/** An error caused by the caller. */
function refusal(kind: ErrorName) {
  return (pattern: RegExp, message: string, hint?: string): ErrorRule => {
    return { blames: 'caller', pattern, kind, message, hint };
  };
}

/**
 * A failure of the service. It must be recognized by the start of its message, before the first quote, because quoted
 * text may come from a caller.
 */
function failure(kind: ErrorName) {
  return (pattern: RegExp, message: string, retryAfterSeconds?: number): ErrorRule => {
    return { blames: 'service', pattern, kind, message, retryAfterSeconds };
  };
}

const invalid = refusal('InvalidInput');
const unfit = refusal('TableSchemaValidationError');
const columnMissing = refusal('TableColumnNotFound');
const versionMissing = refusal('TableVersionNotFound');
const unavailable = failure('ServiceUnavailable');
const conflict = failure('ConcurrentModification');

/**
 * How the releases begin a message that blames the caller: 0.31.0 with its own text, 0.39.0 with that of its binding.
 */
const INPUT = String.raw`(?:(?:lance error: )?Invalid user input: |Invalid input, )`;
const STORAGE = String.raw`^(?:Failed to [^:]+: (?:GenericFailure, )?)?(?:lance error: )?LanceError\(IO\): [^'"]*`;

/** By the code at the beginning of the store's reply (XML), which follows the status. */
function storeRefusal({ message, codes }: StoreRefusal, other = ''): ErrorRule {
  const reply = String.raw`status code: \d{3} [^<'":]*: \uFEFF?(?:<\?xml[^<>]*>)?\s*<Error[^<>]*>\s*<Code>`;
  const pattern = new RegExp(String.raw`${STORAGE}(?:${reply}(${codes.join('|')})</Code>${other})`);
  return unavailable(pattern, `${message} ($1).`, 30);
}

/**
 * Rules by name; the first match decides. Tests provoke each one with the real engine; comments give the reason for
 * exceptions.
 */
export const ERROR_RULES = {
  // Storage and commits.
  'storage-full': unavailable(new RegExp(String.raw`${STORAGE}\(os error (?:28|122)\)`), 'The storage is full.', 30),
  'storage-not-writable': unavailable(
    new RegExp(String.raw`${STORAGE}\(os error (?:1|13|30)\)`),
    'The storage does not allow the server to read or write.',
    30,
  ),
  'object-store-credentials': storeRefusal(STORE_REFUSALS.credentials),
  'object-store-clock': storeRefusal(STORE_REFUSALS.clock),
  'object-store-bucket': storeRefusal(STORE_REFUSALS.bucket),
  // The engine does not show the reply to a redirect.
  'object-store-region': storeRefusal(
    STORE_REFUSALS.region,
    '|Received (redirect) without LOCATION, this normally indicates an incorrectly configured region',
  ),
  'object-store-refused': unavailable(
    // The first alternative is for an object, the second for a list.
    new RegExp(
      String.raw`${STORAGE}(?:The operation lacked (?:the necessary privileges|valid authentication credentials) |Generic \w+ error: [^'"]*status code: 40[13] )`,
    ),
    'The object store refuses access.',
    30,
  ),
  // Those that are worth repeating are 408, 409, 412 and 429. The reply to a HEAD has no code.
  'object-store-rejected': unavailable(
    new RegExp(String.raw`${STORAGE}Generic \w+ error: [^'"]*status code: 4(?!0[89]|12|29)\d\d `),
    'The object store refuses the request.',
    30,
  ),
  'object-store': unavailable(
    new RegExp(String.raw`${STORAGE}Generic (?:S3|GCS|MicrosoftAzure|HTTP)\w* error: `),
    'The object store cannot be reached.',
    5,
  ),
  'commit-conflict': conflict(
    /^[^'"]*?(?:Retryable commit conflict|Incompatible transaction: |Concurrent modification: )/,
    'Other writers changed the table at the same time.',
    1,
  ),
  // The engine retries a conflict for 30 seconds: it takes many other writing processes, or a compaction that loses
  // against one fast writer, to get here.
  'commit-starved': conflict(
    /^[^'"]*?Too many concurrent writers/,
    'Too many writers are changing the table at the same time.',
    5,
  ),

  // Versions, tags, branches, indexes and columns.
  'version-missing': versionMissing(/_versions\/(\d+)\.manifest was not found/, 'The table has no version $1.'),
  'branch-missing': refusal('TableBranchNotFound')(
    /^(?:lance error: )?Not found: .*\/tree\/(.+)\/_versions,/,
    'The branch {1} was not found.',
  ),
  'branch-invalid': invalid(
    /Ref is invalid: |^Invalid input, branch name must be/,
    'The branch name is not valid.',
    'A branch name can have letters, digits, ".", "-" and "_", and "/" between its parts.',
  ),
  'tagged-cleanup': conflict(
    /^(?:lance error: )?Cleanup error: \d+ tagged version/,
    'A version that was to be deleted has been tagged in the meantime.',
    1,
  ),
  // The engine lists the tags and branches, then opens the file of each.
  'ref-deleted': conflict(
    /^[^'"]*?(?:Not found: |Object at location )[^,\n]*\/_refs\/(?:tags|branches)\//,
    'A tag or a branch of the table was deleted at the same time.',
    1,
  ),
  'tag-missing': refusal('TableTagNotFound')(
    /^(?:lance error: )?Ref not found error: tag (\S+) does not exist/,
    'The tag {1} was not found.',
  ),
  'tag-exists': refusal('TableTagAlreadyExists')(
    /^(?:lance error: )?Ref conflict error: tag (\S+) already exists/,
    'The tag {1} already exists.',
  ),
  'tagged-version-missing': versionMissing(
    /^(?:lance error: )?Version not found error: version \S+:(\d+) does not exist/,
    'The table has no version $1 on this branch.',
  ),
  // Only if another process created the branch after the service checked.
  'branch-exists': failure('TableBranchAlreadyExists')(
    /^(?:lance error: )?Encountered internal error\. .*Clone operation should not enter build_manifest/,
    'The branch already exists.',
  ),
  'branch-needed': refusal('InvalidTableState')(
    /^(?:lance error: )?Ref conflict error: Branch (\S+) is referenced by /,
    'Other branches were created from the branch {1}.',
    'Delete those branches first.',
  ),
  'index-missing': refusal('TableIndexNotFound')(
    /^(?:lance error: )?Lance index not found: name=(.*?), \//,
    'The table has no index {1}.',
  ),
  'index-name-taken': refusal('TableIndexAlreadyExists')(
    /^(?:lance error: )?LanceError\(Index\): Index name '(.*)' already exists/,
    'The index {1} already exists, on another column.',
    'Use another name, or drop that index first.',
  ),
  'index-column-type': invalid(
    new RegExp(
      String.raw`^(?:Schema Error: A ([\w ]+) index cannot be created on the (?:whole-document lance\.json )?field|${INPUT}(LabelList) index can only be created on )`,
    ),
    '$1 indexes do not support the type of this column.',
    'Leave out the index type: the server chooses one that fits, or says that there is none.',
  ),
  'index-rows-missing': invalid(
    /Not enough rows to train PQ\. Requires (\d+) rows but only (\d+) available/,
    'The index needs at least $1 vectors for training; the table has $2.',
    'Insert more rows, or use IVF_FLAT or IVF_HNSW_SQ.',
  ),
  'index-vectors-missing': invalid(
    /KMeans cannot train (\d+) centroids with (\d+) vectors/,
    'The index cannot have $1 partitions: the table has $2 vectors for training.',
    'Vectors that are null or not finite do not count, nor do zero vectors with the distance type cosine.',
  ),
  'column-type-change': invalid(
    new RegExp(String.raw`^${INPUT}Cannot cast column "(.*?)" from `),
    'The column {1} cannot be changed to that type.',
    'A type can change only within its family: integers, floats, strings, binaries, or vectors of one length.',
  ),
  'column-type-indexed': invalid(
    new RegExp(String.raw`^${INPUT}Cannot cast column\(s\) \[(.*?)\] to a new type: they have `),
    'The type of the column {1} cannot change while it has an index.',
    'Drop the index first.',
  ),
  'column-has-nulls': unfit(
    new RegExp(String.raw`^${INPUT}Column "(.*?)" contains NULL values and cannot be made non-nullable`),
    'The column {1} contains nulls, so it cannot become non-nullable.',
  ),
  'table-missing': failure('TableNotFound')(/^Table '[^']*' was not found/, 'The data of the table was not found.'),
  // The engine blames its caller for a file that is not a Lance file.
  'data-damaged': refusal('Internal')(
    new RegExp(String.raw`^(?:Failed to [^:]+: (?:GenericFailure, )?)?${INPUT}file does not appear to be`),
    'The data of the table cannot be read.',
  ),
  // Seen in @lancedb/lancedb 0.39.0: a branch of a branch looks in its parent's folder for indexes that both inherited.
  'branch-index-missing': {
    ...failure('Unsupported')(
      /^[^'"]*?(?:Not found: |Object at location )[^,\n]*\/tree\/\S+\/_indices\//,
      'The storage engine cannot read an index of this branch: it was built before the parent of the branch was created.',
    ),
    hint: 'Build the index again on the branch, or drop it there.',
  },
  'data-missing': failure('Internal')(
    /^[^'"]*?(?:Not found: |Object at location )[^,\n]*\/(?:data|_deletions|_indices|_versions)\b/,
    'The data of this version of the table no longer exists.',
  ),
  closed: unavailable(/^(?:Table \S+ is closed|Connection is closed)/, 'The server is shutting down.', 1),
  // Only while a failed overwrite could not be undone and readers are held.
  'held-version': {
    ...refusal('ServiceUnavailable')(
      /^Invalid input, table cannot be modified when a specific version is checked out/,
      'Writes to the table are paused until it is restored to an earlier version.',
    ),
    retryAfterSeconds: 30,
  },
  'query-timeout': {
    ...unavailable(/^[^'"]*?Query timeout after \d+ ms/, 'The query exceeded its time limit.'),
    hint: 'Request fewer rows, or create an index.',
  },

  // Rows, SQL and searches.
  'null-in-required-column': unfit(
    /Column '([^']*)' is declared as non-nullable but contains null values/,
    'The column {1} must not be null.',
  ),
  'null-in-required-field': invalid(
    /Cannot cast nullable struct field '([^']*)' to non-nullable field|Unsupported CAST from Struct\(.*\) to Struct\(.*?"([^"]*)": non-null /,
    'The struct cannot be rewritten, because its field {1} is not nullable.',
  ),
  'column-missing-in-expression': columnMissing(
    /No field named (?:"((?:[^"]|"")*)"|([^\s,]+?))\.(?:\s(?:Did you mean '([^']+)'\?)?|,|$)/,
    'The column {1} was not found.',
    'Did you mean {2}?',
  ),
  'struct-field-missing': columnMissing(/Field (\S+) not found in struct/, 'The column {1} was not found.'),
  'column-missing': columnMissing(
    /(?:Column '?|column |Field '|field path ')([^'\n,]+?)'? (?:does not exist|not found[.,])/,
    'The column {1} was not found.',
  ),
  'query-vector-mismatch': invalid(
    /query dim\((\d+)\) doesn't match the column .* vector dim\((\d+)\)/,
    'The query vector has $1 dimensions; the column has $2.',
  ),
  'distance-type-mismatch': invalid(
    /Distance type (\w+) does not support (\w+) vectors/,
    'The distance type $1 does not work on vectors of $2.',
    'Use hamming for UInt8 vectors; l2, cosine or dot for the others.',
  ),
  'ef-below-k': invalid(/ef must be greater than or equal to k/, 'ef is smaller than k.', 'Set ef to at least k.'),
  'full-text-index-missing': invalid(
    /unless an INVERTED index has been created|No Inverted index found for column/,
    'The full-text query needs a full-text index, which the table does not have.',
    'Give the columns of a text or match query, or create an index.',
  ),
  'full-text-positions-missing': invalid(
    /position is not found but required for phrase queries/,
    'The full-text index has no word positions, which a phrase query needs.',
    'Create the index again with positions.',
  ),
  'full-text-not-text': invalid(
    /column (\S+) has type .*, is not utf8|FTS field '(.+?)' must resolve to Utf8/,
    'The column {1} does not contain text.',
  ),
  'full-text-too-fuzzy': invalid(
    /Levenshtein automaton exceeds size limit/,
    'The fuzziness of the full-text query is too large for its longest word.',
    'Use a smaller fuzziness, or 0 for exact words.',
  ),
  'full-text-empty-boolean': invalid(
    /boolean query must have at least one should\/must query|FTS query must contain at least one leaf query/,
    'A boolean full-text query needs at least one clause that must or should match.',
  ),
  'unsupported-type': unfit(
    /Unsupported data type: (\w+)|(\w+) data type is (?:only supported in Lance file format|not enabled by the selected file format)/,
    'The storage engine cannot store the type $1.',
  ),
  'column-name-refused': unfit(
    /Top level field (.+) cannot contain `\.`|The column (\S+) is a reserved name/,
    'The storage engine cannot store a column named {1}.',
  ),
  'null-in-added-rows': unfit(
    /The field `(.+?)` contained null values even though the field is marked non-null/,
    'The column {1} must not be null.',
  ),
  'null-field-in-null-struct': unfit(
    /Arrays of type Null cannot contain a null bitmask/,
    'A struct is null and has a field of the null type, which the storage engine cannot store.',
    'Give the field a type.',
  ),
  'null-in-required-item': unfit(
    /non-nullable child of type .* contains nulls not present in parent/,
    'A list contains nulls although its schema allows none.',
  ),
  'text-not-json': invalid(
    /Failed to encode JSON: /,
    'A value of a JSON column is not valid JSON.',
    'Values of a JSON column must be standard JSON (RFC 8259) without repeated keys.',
  ),
  // Only if the schema changed after the service compared the columns with the table's.
  'schema-mismatch': unfit(
    /field '.*' does not exist in table schema|cannot cast field '.*' from|fields did not match/,
    'The data does not fit the schema of the table.',
  ),
  'column-of-another-type': unfit(
    /^[^'"]*?Append with different schema: `(.+?)` should have type (\S+) but type was (\S+?),/,
    'The column {1} has the type $3; the table has $2.',
    'In a merge, columns must have exactly the types of the table.',
  ),
  'vector-not-a-number': invalid(
    /Vector column contains NaN values/,
    'A vector contains a value that is not a number (NaN).',
    'Send null for a missing vector.',
  ),
  'merge-ambiguous': invalid(
    /Ambiguous merge inserts are prohibited/,
    'Several rows of the request match the same row of the table.',
    'Send each key once.',
  ),
  'merge-filter-without-prefix': invalid(
    /Ambiguous reference to unqualified field (.+?)(?:, \/|$)/,
    'The column {1} in the filter is ambiguous.',
    'Prefix it with target. for the row of the table, or with source. for the row of the request.',
  ),
  'merge-timeout': failure('RequestTimeout')(
    /^[^'"]*?merge insert timed out/,
    'The merge exceeded its timeout and changed nothing.',
  ),
  'malformed-batch': invalid(
    /^Failed to read (?:IPC file|record batch from IPC)|^Arrow error: (?:Ipc|Parser|Io|Invalid argument) error|Cannot scan an empty Vec<RecordBatch>/,
    'A record batch of the Arrow stream is malformed.',
  ),
  'divide-by-zero': invalid(/Divide by zero error/, 'An expression divides by zero.'),
  'vector-length': invalid(
    /Cannot cast to FixedSizeList\((\d+)\): value at index \d+ has length (\d+)/,
    'A value has $2 elements; the column needs $1.',
  ),
  cast: invalid(
    /Cast error: |Unsupported CAST|Cannot automatically convert|could not convert to literal of type|coercion failed|Byte slice does not have the same length|too large to store in a Decimal|Cannot cast |Dictionary key bigger than the key type/,
    'A value cannot be converted to the required type.',
    "Compare and assign values of the column's type, or convert them with CAST.",
  ),
  // Damaged files cause other messages.
  'not-computable': invalid(
    /(?:LanceError\(Arrow\)|Arrow error): (?:Parser error|Compute error|Arithmetic overflow): |Error applying filter expression to batch: Execution error: |Encountered non UTF-8 data|too small to store in a Decimal|Max precision of a Decimal|regex parse error|array_slice got invalid stride/,
    'An expression cannot be computed for a value of a row or for a literal.',
    'Correct the literal; use TRY_CAST for values of rows, or exclude such rows with a condition.',
  ),
  'not-boolean': invalid(
    /Filter predicate must return BOOLEAN values|does not return a boolean|for logical boolean operation/,
    'The filter or predicate is not a condition: its result is not true or false.',
  ),
  'function-unknown': invalid(/Invalid function '([^']*)'/, 'The function {1} does not exist.'),
  'duplicate-column': invalid(/Duplicate column name: (.+?)(?:, \/|$)/, 'The column {1} is selected more than once.'),
  'no-column-read': invalid(
    /Scans must request at least one column/,
    'The query returns only expressions that read no column.',
    'Return at least one column of the table.',
  ),
  sql: invalid(
    /Error parsing statement|Error tokenizing statement|Expression is not valid|Filter is not valid|is not supported SQL in lance|Error parsing function|Expected a literal value in array|Operator .* is not supported|feature is not implemented|not yet implemented|Error during planning|Execution error: |concat requires input/,
    'The SQL is not valid, or not supported by the storage engine.',
    'Use column references, literals, comparisons, arithmetic and scalar functions.',
  ),
} satisfies Readonly<Record<string, ErrorRule>>;
