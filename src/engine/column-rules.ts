import { quoteForMessage } from '../model/identifier.ts';
import type { ErrorRule } from './error-rule.ts';

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
