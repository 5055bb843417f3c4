import type { ErrorRules } from './error-rule.ts';

/** Failures caused by a caller's rows, SQL or search. */
export const ROW_ERROR_RULES: ErrorRules = {
  'null-in-required-column': {
    pattern: /Column '([^']*)' is declared as non-nullable but contains null values/,
    kind: 'TableSchemaValidationError',
    message: 'The column {1} may not be null.',
  },
  'null-in-required-field': {
    pattern: /Cannot cast nullable struct field '([^']*)' to non-nullable field/,
    kind: 'InvalidInput',
    message: 'The struct has the field {1}, which may not be null, and cannot be rewritten.',
  },
  'column-missing-in-expression': {
    pattern: /No field named (?:"((?:[^"]|"")*)"|([^\s,]+?))\.(?:\s(?:Did you mean '([^']+)'\?)?|,|$)/,
    kind: 'TableColumnNotFound',
    message: 'The column {1} was not found.',
    hint: 'Did you mean {2}?',
  },
  'struct-field-missing': {
    pattern: /Field (\S+) not found in struct/,
    kind: 'TableColumnNotFound',
    message: 'The column {1} was not found.',
  },
  'column-missing': {
    pattern: /(?:Column '?|column |Field ')([^'\n,]+?)'? (?:does not exist|not found[.,])/,
    kind: 'TableColumnNotFound',
    message: 'The column {1} was not found.',
  },
  'query-vector-mismatch': {
    pattern: /query dim\((\d+)\) doesn't match the column .* vector dim\((\d+)\)/,
    kind: 'InvalidInput',
    message: 'The query vector has $1 dimensions, the column has $2.',
  },
  'distance-type-mismatch': {
    pattern: /Distance type (\w+) does not support (\w+) vectors/,
    kind: 'InvalidInput',
    message: 'The distance type $1 does not work on vectors of $2.',
    hint: 'Use hamming for UInt8 vectors; l2, cosine or dot for the others.',
  },
  'ef-below-k': {
    pattern: /ef must be greater than or equal to k/,
    kind: 'InvalidInput',
    message: 'ef is smaller than k.',
    hint: 'Give an ef of at least k.',
  },
  'full-text-index-missing': {
    pattern: /unless an INVERTED index has been created|No Inverted index found for column/,
    kind: 'InvalidInput',
    message: 'The full-text query needs a full-text index, which the table does not have.',
    hint: 'Name the columns of a text or match query, or create an index.',
  },
  'full-text-positions-missing': {
    pattern: /position is not found but required for phrase queries/,
    kind: 'InvalidInput',
    message: 'The full-text index has no word positions, which a phrase query needs.',
    hint: 'Create the index again with positions.',
  },
  'full-text-not-text': {
    pattern: /column (\S+) has type .*, is not utf8/,
    kind: 'InvalidInput',
    message: 'The column {1} does not hold text.',
  },
  'full-text-empty-boolean': {
    pattern: /boolean query must have at least one should\/must query/,
    kind: 'InvalidInput',
    message: 'A boolean full-text query needs at least one clause that must or should match.',
  },
  'unsupported-type': {
    pattern: /Unsupported data type: (\w+)|(\w+) data type is only supported in Lance file format/,
    kind: 'TableSchemaValidationError',
    message: 'The storage engine cannot store the type $1.',
  },
  'column-name-refused': {
    pattern: /Top level field (.+) cannot contain `\.`|The column (\S+) is a reserved name/,
    kind: 'TableSchemaValidationError',
    message: 'The storage engine cannot store a column named {1}.',
  },
  'null-in-added-rows': {
    pattern: /The field `(.+?)` contained null values even though the field is marked non-null/,
    kind: 'TableSchemaValidationError',
    message: 'The column {1} may not be null.',
  },
  // Only for a schema that changed after the service compared the columns with the table's.
  'schema-mismatch': {
    pattern: /field '.*' does not exist in table schema|cannot cast field '.*' from|fields did not match/,
    kind: 'TableSchemaValidationError',
    message: 'The data does not fit the schema of the table.',
  },
  'column-of-another-type': {
    pattern: /^[^'"]*?Append with different schema: `(.+?)` should have type (\S+) but type was (\S+?),/,
    kind: 'TableSchemaValidationError',
    message: 'The column {1} has the type $3 where the table has $2.',
    hint: 'A merge takes columns of exactly the types of the table.',
  },
  'vector-not-a-number': {
    pattern: /Vector column contains NaN values/,
    kind: 'InvalidInput',
    message: 'A vector holds a value that is not a number (NaN).',
    hint: 'Send null for a vector that is not known.',
  },
  'merge-ambiguous': {
    pattern: /Ambiguous merge inserts are prohibited/,
    kind: 'InvalidInput',
    message: 'Several of the rows have the key of one row of the table.',
    hint: 'Send each key once.',
  },
  'merge-filter-without-prefix': {
    pattern: /Ambiguous reference to unqualified field (.+?), \//,
    kind: 'InvalidInput',
    message: 'The column {1} in the filter does not say whose it is.',
    hint: 'Write target. in front for the row of the table, and source. for the row that was sent.',
  },
  'merge-timeout': {
    blames: 'service',
    pattern: /^[^'"]*?merge insert timed out/,
    kind: 'RequestTimeout',
    message: 'The merge took longer than the time that it was given, and changed nothing.',
  },
  'malformed-batch': {
    pattern:
      /^Failed to read (?:IPC file|record batch from IPC)|^Arrow error: (?:Ipc|Parser|Io|Invalid argument) error|Cannot scan an empty Vec<RecordBatch>/,
    kind: 'InvalidInput',
    message: 'A record batch of the Arrow stream is malformed.',
  },
  'divide-by-zero': {
    pattern: /Divide by zero error/,
    kind: 'InvalidInput',
    message: 'An expression divides by zero.',
  },
  'vector-length': {
    pattern: /Cannot cast to FixedSizeList\((\d+)\): value at index \d+ has length (\d+)/,
    kind: 'InvalidInput',
    message: 'A value has $2 elements where the column wants $1.',
  },
  cast: {
    pattern:
      /Cast error: |Unsupported CAST|Cannot automatically convert|could not convert to literal of type|coercion failed|Byte slice does not have the same length|too large to store in a Decimal|Cannot cast /,
    kind: 'InvalidInput',
    message: 'A value cannot be converted to the type that is needed in its place.',
    hint: "Compare and assign values of the column's type, or convert them with CAST.",
  },
  'not-boolean': {
    pattern: /Filter predicate must return BOOLEAN values|does not return a boolean|for logical boolean operation/,
    kind: 'InvalidInput',
    message: 'The filter or predicate is not a condition: it does not give true or false.',
  },
  'function-unknown': {
    pattern: /Invalid function '([^']*)'/,
    kind: 'InvalidInput',
    message: 'The function {1} is not known.',
  },
  'duplicate-column': {
    pattern: /Duplicate column name: (.+?), \//,
    kind: 'InvalidInput',
    message: 'The column {1} is selected more than once.',
  },
  'no-column-read': {
    pattern: /Scans must request at least one column/,
    kind: 'InvalidInput',
    message: 'The query returns expressions alone, none of which reads a column.',
    hint: 'Ask for at least one column of the table.',
  },
  sql: {
    pattern:
      /Error parsing statement|Error tokenizing statement|Expression is not valid|Filter is not valid|is not supported SQL in lance|Error parsing function|Expected a literal value in array|Operator .* is not supported|feature is not implemented|not yet implemented|Error during planning|Execution error: |concat requires input/,
    kind: 'InvalidInput',
    message: 'The SQL is not valid, or not supported by the storage engine.',
    hint: 'Use column references, literals, comparisons, arithmetic and functions of one row.',
  },
};
