import { UNKNOWN_OPERATOR } from './refusal.ts';
import type { Fault } from './refusal.ts';

/** SQL keywords that the parser knows, in upper case; every other word is a name. */

export const VALUES: ReadonlySet<string> = new Set(['NULL', 'TRUE', 'FALSE']);

/** Words between two values. */
export const INFIX: ReadonlySet<string> = new Set(['AND', 'OR', 'LIKE', 'ILIKE', 'IN', 'BETWEEN', 'ESCAPE']);

/** Operators that `NOT` may precede. */
export const NEGATABLE: ReadonlySet<string> = new Set(['LIKE', 'ILIKE', 'IN', 'BETWEEN']);

/** Types of literals such as `DATE '2024-01-31'`. */
export const LITERAL_TYPES: ReadonlySet<string> = new Set('DATE TIME TIMESTAMP DATETIME INTERVAL JSONB'.split(' '));

const UNITS = 'YEAR QUARTER MONTH WEEK DAY HOUR MINUTE SECOND MILLISECOND MICROSECOND'.split(' ');
export const INTERVAL_UNITS: ReadonlySet<string> = new Set(UNITS.flatMap((unit) => [unit, `${unit}S`]));

/** Words that continue the name of a type, except those that the engine parses and ignores, such as FORMAT. */
export const TYPE_WORDS: ReadonlySet<string> = new Set('UNSIGNED PRECISION VARYING WITH WITHOUT TIME ZONE'.split(' '));

const STATEMENT: Fault = [
  'statements and subqueries are not accepted',
  'Give a single expression; write a field of that name in backticks.',
];
const CLAUSE: Fault = [
  'the engine would ignore this clause',
  'Remove it; an expression is computed for one row at a time.',
];
const PATTERN: Fault = [UNKNOWN_OPERATOR, 'Use LIKE, or regexp_like(text, pattern).'];

/** Refused where a value is expected. */
export const REFUSED_VALUES: ReadonlyMap<string, Fault> = new Map<string, Fault>([
  ...named('SELECT FROM WHERE UNION INTERSECT EXCEPT HAVING EXISTS ANY ALL SOME', STATEMENT),
  ['DISTINCT', CLAUSE],
]);

/** Refused where an operator is expected, with a more specific reason than the usual one. */
export const REFUSED_OPERATORS: ReadonlyMap<string, Fault> = new Map<string, Fault>([
  ...named('SELECT FROM WHERE UNION INTERSECT EXCEPT GROUP HAVING LIMIT OFFSET', STATEMENT),
  ...named('OVER FILTER WITHIN ORDER IGNORE RESPECT FORMAT ARRAY COLLATE', CLAUSE),
  ...named('SIMILAR RLIKE REGEXP', PATTERN),
  ['AS', ['an alias is not allowed here', 'Give a single expression.']],
]);

/** The same value for each of the space-separated names. */
export function named<Value>(names: string, value: Value): readonly (readonly [string, Value])[] {
  return names.split(/\s+/).map((name) => [name, value] as const);
}
