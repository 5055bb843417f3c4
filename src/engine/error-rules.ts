import { quoteForMessage } from '../model/identifier.ts';
import { COLUMN_RULES } from './column-rules.ts';
import type { ErrorRule } from './error-rule.ts';
import { HISTORY_RULES } from './history-rules.ts';
import { INDEX_RULES } from './index-rules.ts';

const STORAGE = String.raw`^(?:Failed to [^:]+: (?:GenericFailure, )?)?(?:lance error: )?LanceError\(IO\): [^'"]*`;

/** The first rule that matches decides. A test provokes each against the real engine; the exceptions say why not. */
export const ERROR_RULES: readonly ErrorRule[] = [
  {
    name: 'storage-full',
    blames: 'service',
    pattern: new RegExp(String.raw`${STORAGE}\(os error (?:28|122)\)`),
    kind: 'ServiceUnavailable',
    sentence: () => 'The storage is full.',
    retryAfterSeconds: 30,
  },
  {
    name: 'storage-not-writable',
    blames: 'service',
    pattern: new RegExp(String.raw`${STORAGE}\(os error (?:1|13|30)\)`),
    kind: 'ServiceUnavailable',
    sentence: () => 'The storage does not let the service read or write.',
    retryAfterSeconds: 30,
  },
  {
    name: 'object-store',
    blames: 'service',
    pattern: new RegExp(String.raw`${STORAGE}Generic (?:S3|GCS|MicrosoftAzure|HTTP)\w* error: `),
    kind: 'ServiceUnavailable',
    sentence: () => 'The object store cannot be reached.',
    retryAfterSeconds: 5,
  },
  {
    name: 'commit-conflict',
    blames: 'service',
    pattern: /^[^'"]*?(?:Retryable commit conflict|Incompatible transaction: |Concurrent modification: )/,
    kind: 'ConcurrentModification',
    sentence: () => 'Other writers changed the table at the same time.',
    retryAfterSeconds: 1,
  },
  {
    // The engine gives up after 30 seconds of its own retries: only a crowd of other processes brings that about.
    name: 'commit-starved',
    blames: 'service',
    pattern: /^[^'"]*?Too many concurrent writers/,
    kind: 'ConcurrentModification',
    sentence: () => 'Too many writers are changing the table at the same time.',
    retryAfterSeconds: 5,
  },
  ...HISTORY_RULES,
  ...INDEX_RULES,
  ...COLUMN_RULES,
  {
    name: 'table-missing',
    blames: 'service',
    pattern: /^Table '[^']*' was not found/,
    kind: 'TableNotFound',
    sentence: () => 'The data of the table was not found.',
  },
  {
    name: 'data-damaged',
    // The engine takes a file that is no Lance file for a mistake of its user's.
    blames: 'caller',
    pattern:
      /^(?:Failed to [^:]+: (?:GenericFailure, )?)?(?:lance error: )?Invalid user input: file does not appear to be/,
    kind: 'Internal',
    sentence: () => 'The data of the table cannot be read.',
  },
  {
    name: 'data-missing',
    blames: 'service',
    pattern: /^[^'"]*?(?:Not found: |Object at location )\S*\/(?:data|_deletions|_indices|_versions)\b/,
    kind: 'Internal',
    sentence: () => 'The data of this version of the table is gone.',
  },
  {
    name: 'closed',
    blames: 'service',
    pattern: /^(?:Table \S+ is closed|Connection is closed)/,
    kind: 'ServiceUnavailable',
    sentence: () => 'The service is shutting down.',
    retryAfterSeconds: 1,
  },
  {
    // A write meets this only while an overwrite that failed could not be taken back, and readers are held.
    name: 'held-version',
    blames: 'caller',
    pattern: /^Invalid input, table cannot be modified when a specific version is checked out/,
    kind: 'ServiceUnavailable',
    sentence: () => 'The table is held at an earlier version until it has been restored.',
    retryAfterSeconds: 30,
  },
  {
    name: 'query-timeout',
    blames: 'service',
    pattern: /^[^'"]*?Query timeout after \d+ ms/,
    kind: 'ServiceUnavailable',
    sentence: () => 'The query took longer than allowed.',
    hint: 'Ask for fewer rows or add an index.',
  },
  {
    name: 'null-in-required-column',
    blames: 'caller',
    pattern: /Column '([^']*)' is declared as non-nullable but contains null values/,
    kind: 'TableSchemaValidationError',
    sentence: (column) => `The column ${quoteForMessage(column ?? '')} may not be null.`,
  },
  {
    name: 'null-in-required-field',
    blames: 'caller',
    pattern: /Cannot cast nullable struct field '([^']*)' to non-nullable field/,
    kind: 'InvalidInput',
    sentence: (field) =>
      `The struct has the field ${quoteForMessage(field ?? '')}, which may not be null, and cannot be rewritten.`,
  },
  {
    name: 'column-missing-in-expression',
    blames: 'caller',
    pattern: /No field named (?:"((?:[^"]|"")*)"|([^\s,]+?))\.(?:\s(?:Did you mean '([^']+)'\?)?|,|$)/,
    kind: 'TableColumnNotFound',
    sentence: (quoted, plain) => columnNotFound(quoted === '' || quoted === undefined ? (plain ?? '') : quoted),
    hint: (_quoted, _plain, near = '') => (near === '' ? undefined : `Did you mean ${quoteForMessage(near)}?`),
  },
  {
    name: 'struct-field-missing',
    blames: 'caller',
    pattern: /Field (\S+) not found in struct/,
    kind: 'TableColumnNotFound',
    sentence: (field) => columnNotFound(field ?? ''),
  },
  {
    name: 'column-missing',
    blames: 'caller',
    pattern: /(?:Column '?|column |Field ')([^'\n,]+?)'? (?:does not exist|not found[.,])/,
    kind: 'TableColumnNotFound',
    sentence: (column) => columnNotFound(column ?? ''),
  },
  {
    name: 'query-vector-mismatch',
    blames: 'caller',
    pattern: /query dim\((\d+)\) doesn't match the column .* vector dim\((\d+)\)/,
    kind: 'InvalidInput',
    sentence: (given, wanted) => `The query vector has ${given} dimensions, the column has ${wanted}.`,
  },
  {
    name: 'distance-type-mismatch',
    blames: 'caller',
    pattern: /Distance type (\w+) does not support (\w+) vectors/,
    kind: 'InvalidInput',
    sentence: (distance, type) => `The distance type ${distance} does not work on vectors of ${type}.`,
    hint: 'Use hamming for UInt8 vectors; l2, cosine or dot for the others.',
  },
  {
    name: 'ef-below-k',
    blames: 'caller',
    pattern: /ef must be greater than or equal to k/,
    kind: 'InvalidInput',
    sentence: () => 'ef is smaller than k.',
    hint: 'Give an ef of at least k.',
  },
  {
    name: 'full-text-index-missing',
    blames: 'caller',
    pattern: /unless an INVERTED index has been created|No Inverted index found for column/,
    kind: 'InvalidInput',
    sentence: () => 'The full-text query needs a full-text index, which the table does not have.',
    hint: 'Name the columns of a text or match query, or create an index.',
  },
  {
    name: 'full-text-positions-missing',
    blames: 'caller',
    pattern: /position is not found but required for phrase queries/,
    kind: 'InvalidInput',
    sentence: () => 'The full-text index has no word positions, which a phrase query needs.',
    hint: 'Create the index again with positions.',
  },
  {
    name: 'full-text-not-text',
    blames: 'caller',
    pattern: /column (\S+) has type .*, is not utf8/,
    kind: 'InvalidInput',
    sentence: (column) => `The column ${quoteForMessage(column ?? '')} does not hold text.`,
  },
  {
    name: 'full-text-empty-boolean',
    blames: 'caller',
    pattern: /boolean query must have at least one should\/must query/,
    kind: 'InvalidInput',
    sentence: () => 'A boolean full-text query needs at least one clause that must or should match.',
  },
  {
    name: 'unsupported-type',
    blames: 'caller',
    pattern: /Unsupported data type: (\w+)|(\w+) data type is only supported in Lance file format/,
    kind: 'TableSchemaValidationError',
    sentence: (type, other) => `The storage engine cannot store the type ${type === '' ? other : type}.`,
  },
  {
    name: 'column-name-refused',
    blames: 'caller',
    pattern: /Top level field (.+) cannot contain `\.`|The column (\S+) is a reserved name/,
    kind: 'TableSchemaValidationError',
    sentence: (dotted, reserved) =>
      `The storage engine cannot store a column named ${quoteForMessage(dotted === '' ? (reserved ?? '') : (dotted ?? ''))}.`,
  },
  {
    name: 'null-in-added-rows',
    blames: 'caller',
    pattern: /The field `(.+?)` contained null values even though the field is marked non-null/,
    kind: 'TableSchemaValidationError',
    sentence: (column) => `The column ${quoteForMessage(column ?? '')} may not be null.`,
  },
  {
    // The service holds the columns against the table's before; this is for a schema that changed at that moment.
    name: 'schema-mismatch',
    blames: 'caller',
    pattern: /field '.*' does not exist in table schema|cannot cast field '.*' from|fields did not match/,
    kind: 'TableSchemaValidationError',
    sentence: () => 'The data does not fit the schema of the table.',
  },
  {
    name: 'column-of-another-type',
    blames: 'caller',
    pattern: /^[^'"]*?Append with different schema: `(.+?)` should have type (\S+) but type was (\S+?),/,
    kind: 'TableSchemaValidationError',
    sentence: (column, wanted, given) =>
      `The column ${quoteForMessage(column ?? '')} has the type ${given} where the table has ${wanted}.`,
    hint: 'A merge takes columns of exactly the types of the table.',
  },
  {
    name: 'vector-not-a-number',
    blames: 'caller',
    pattern: /Vector column contains NaN values/,
    kind: 'InvalidInput',
    sentence: () => 'A vector holds a value that is not a number (NaN).',
    hint: 'Send null for a vector that is not known.',
  },
  {
    name: 'merge-ambiguous',
    blames: 'caller',
    pattern: /Ambiguous merge inserts are prohibited/,
    kind: 'InvalidInput',
    sentence: () => 'Several of the rows have the key of one row of the table.',
    hint: 'Send each key once.',
  },
  {
    name: 'merge-filter-without-prefix',
    blames: 'caller',
    pattern: /Ambiguous reference to unqualified field (.+?), \//,
    kind: 'InvalidInput',
    sentence: (column) => `The column ${quoteForMessage(column ?? '')} in the filter does not say whose it is.`,
    hint: 'Write target. in front for the row of the table, and source. for the row that was sent.',
  },
  {
    name: 'merge-timeout',
    blames: 'service',
    pattern: /^[^'"]*?merge insert timed out/,
    kind: 'RequestTimeout',
    sentence: () => 'The merge took longer than the time that it was given, and changed nothing.',
  },
  {
    name: 'malformed-batch',
    blames: 'caller',
    pattern:
      /^Failed to read (?:IPC file|record batch from IPC)|^Arrow error: (?:Ipc|Parser|Io|Invalid argument) error|Cannot scan an empty Vec<RecordBatch>/,
    kind: 'InvalidInput',
    sentence: () => 'A record batch of the Arrow stream is malformed.',
  },
  {
    name: 'divide-by-zero',
    blames: 'caller',
    pattern: /Divide by zero error/,
    kind: 'InvalidInput',
    sentence: () => 'An expression divides by zero.',
  },
  {
    name: 'vector-length',
    blames: 'caller',
    pattern: /Cannot cast to FixedSizeList\((\d+)\): value at index \d+ has length (\d+)/,
    kind: 'InvalidInput',
    sentence: (wanted, given) => `A value has ${given} elements where the column wants ${wanted}.`,
  },
  {
    name: 'cast',
    blames: 'caller',
    pattern:
      /Cast error: |Unsupported CAST|Cannot automatically convert|could not convert to literal of type|coercion failed|Byte slice does not have the same length|too large to store in a Decimal|Cannot cast /,
    kind: 'InvalidInput',
    sentence: () => 'A value cannot be converted to the type that is needed in its place.',
    hint: "Compare and assign values of the column's type, or convert them with CAST.",
  },
  {
    name: 'not-boolean',
    blames: 'caller',
    pattern: /Filter predicate must return BOOLEAN values|does not return a boolean|for logical boolean operation/,
    kind: 'InvalidInput',
    sentence: () => 'The filter or predicate is not a condition: it does not give true or false.',
  },
  {
    name: 'function-unknown',
    blames: 'caller',
    pattern: /Invalid function '([^']*)'/,
    kind: 'InvalidInput',
    sentence: (name) => `The function ${quoteForMessage(name ?? '')} is not known.`,
  },
  {
    name: 'duplicate-column',
    blames: 'caller',
    pattern: /Duplicate column name: (.+?), \//,
    kind: 'InvalidInput',
    sentence: (column) => `The column ${quoteForMessage(column ?? '')} is selected more than once.`,
  },
  {
    name: 'no-column-read',
    blames: 'caller',
    pattern: /Scans must request at least one column/,
    kind: 'InvalidInput',
    sentence: () => 'The query returns expressions alone, none of which reads a column.',
    hint: 'Ask for at least one column of the table.',
  },
  {
    name: 'sql',
    blames: 'caller',
    pattern:
      /Error parsing statement|Error tokenizing statement|Expression is not valid|Filter is not valid|is not supported SQL in lance|Error parsing function|Expected a literal value in array|Operator .* is not supported|feature is not implemented|not yet implemented|Error during planning|Execution error: |concat requires input/,
    kind: 'InvalidInput',
    sentence: () => 'The SQL is not valid, or not supported by the storage engine.',
    hint: 'Use column references, literals, comparisons, arithmetic and functions of one row.',
  },
];

function columnNotFound(name: string): string {
  return `The column ${quoteForMessage(name)} was not found.`;
}
