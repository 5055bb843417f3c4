import { sqlFieldReference } from '../../model/field-path.ts';
import type { FieldPath } from '../../model/field-path.ts';
import type { Query } from '../../model/query.ts';
import { childFields } from '../../model/schema.ts';
import type { DataType, Field, Schema } from '../../model/schema.ts';
import type { EngineRelease } from '../native/engine-release.ts';

/**
 * Seen in @lancedb/lancedb 0.31.0, not in 0.39.0: a filtered scan reads the narrow fields of a struct with the filter and the wide ones
 * afterwards, and where all rows of a batch are null in the struct, assembles a struct of nulls. An update of any other
 * column then writes that back. Goes with the fallback engine; the tests of update show it.
 *
 * Returns a predicate that matches the same rows, with always-true tests that make the engine read every struct whole.
 */
export function keepNullStructs(predicate: string, schema: Schema, { isFallback }: EngineRelease): string {
  if (!isFallback) return predicate;
  const tests = schema.fields.flatMap((field) => toReadTests(field, [field.name]));
  return tests.length === 0 ? predicate : `${predicate} AND ${joinBalanced(tests)}`;
}

interface Scanned {
  readonly schema: Schema;
  readonly release: EngineRelease;
}

/** Only row ids or offsets: the engine reads just those rows, and null structs are safe. */
const ROWS_ONLY = /^\(\s*_row(?:id|offset)\s+in\s*\([\d\s,]*\)\s*\)$/i;
const NAMES_ROWS = /\b_row(?:id|addr|offset)\b/i;

/**
 * The filter of a scan that is not a search. Seen in @lancedb/lancedb 0.31.0, not in 0.39.0: the engine may answer a filter
 * that names row ids by taking those rows, and applies limit and offset before the rest of the filter. An always-true test
 * on a returned column forces a scan. Goes with the fallback engine; the tests of query-table show it.
 */
export function toScanFilter(filter: string, query: Query, { schema, release }: Scanned): string {
  if (!release.isFallback) return filter;
  const isLimited = query.k !== undefined || (query.offset !== undefined && query.offset > 0);
  if (ROWS_ONLY.test(filter) && !isLimited) return filter;
  const forced = isLimited && NAMES_ROWS.test(filter) ? forceColumnRead(filter, query, schema) : filter;
  const fields = schema.fields.filter(({ name }) => isRead(query, name));
  return keepNullStructs(forced, { ...schema, fields }, release);
}

/** Unchanged if no returned column is nullable: the engine optimizes other tests away. */
function forceColumnRead(predicate: string, query: Query, schema: Schema): string {
  const fields = schema.fields.filter(({ name, nullable }) => nullable && isReturned(query, name));
  const field = fields.find(({ type }) => !holdsStruct(type)) ?? fields[0];
  return field === undefined ? predicate : `(${predicate}) AND ${toReadTest([field.name])}`;
}

function isRead({ projection }: Query, name: string): boolean {
  if (projection === undefined) return true;
  if (projection.kind === 'names') return projection.paths.some(([first]) => first === name);
  return projection.columns.some(([, expression]) => expression.toLowerCase().includes(name.toLowerCase()));
}

/** Whether it is returned as a whole column; what an expression reads is not known here. */
function isReturned({ projection }: Query, name: string): boolean {
  if (projection === undefined) return true;
  return projection.kind === 'names' && projection.paths.some((path) => path.length === 1 && path[0] === name);
}

export function holdsStruct(type: DataType): boolean {
  return type.kind === 'struct' || childFields(type).some((child) => holdsStruct(child.type));
}

/** The engine optimizes away a test on a non-nullable field; the fields below it are tested instead. */
function toReadTests(field: Field, path: FieldPath): string[] {
  if (!holdsStruct(field.type)) return [];
  if (field.nullable) return [toReadTest(path)];
  if (field.type.kind !== 'struct') return [];
  return field.type.children.flatMap((child) => toReadTests(child, [...path, child.name]));
}

function toReadTest(path: FieldPath): string {
  const reference = sqlFieldReference(path);
  return `(${reference} IS NULL OR ${reference} IS NOT NULL)`;
}

/** The engine's planner recurses as deeply as a chain of `AND` is long. */
function joinBalanced(conditions: readonly string[]): string {
  if (conditions.length === 1) return conditions[0] ?? '';
  const middle = Math.ceil(conditions.length / 2);
  return `(${joinBalanced(conditions.slice(0, middle))} AND ${joinBalanced(conditions.slice(middle))})`;
}
