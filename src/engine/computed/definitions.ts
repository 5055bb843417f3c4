import { ServiceError, invalidInput } from '../../errors/service-error.ts';
import { findVolatile } from '../../guard/sql/functions.ts';
import { guardSql } from '../../guard/sql/guard-sql.ts';
import { computedText } from '../../model/schema.ts';
import { quotePath } from '../../model/field-path.ts';
import { quoteForMessage } from '../../model/identifier.ts';
import type { SqlLimits } from '../../model/limits.ts';
import type { GuardedSql } from '../../model/query.ts';
import type { Field, Schema } from '../../model/schema.ts';
import { requireFit } from '../commits/schema-fit.ts';
import { useExactNames } from '../workarounds/exact-names.ts';
import type { EngineParts } from '../parts.ts';
import { findReferences } from './references.ts';

/** A column that is computed from other columns of the row. */
export interface ComputedColumn {
  readonly field: Field;
  readonly expression: GuardedSql;
  /** The top-level columns that it reads. */
  readonly inputs: ReadonlySet<string>;
}

/**
 * The computed columns of the current table. Definitions are checked at each use, because other programs can change
 * them.
 */
export function findComputed(schema: Schema, limits: SqlLimits): readonly ComputedColumn[] {
  return schema.fields.flatMap((field) => {
    const text = computedText(field);
    return text === undefined ? [] : [readDefinition(field, text, schema, limits)];
  });
}

/** Does not check definitions, for refusals that must also work if a definition is unusable. */
export function findReaders(schema: Schema, column: string): readonly string[] {
  const readers = schema.fields.filter((field) => {
    const text = computedText(field);
    return text !== undefined && field.name !== column && mayRead(text, schema, column);
  });
  return readers.map(({ name }) => name);
}

/** Refuses rows that do not fit the table, or that have values for its computed columns, which it returns. */
export function requireRowsFit(
  { sqlLimits }: Pick<EngineParts, 'sqlLimits'>,
  rows: Schema,
  table: Schema,
): readonly ComputedColumn[] {
  requireFit(rows, table);
  const computed = findComputed(table, sqlLimits);
  refuseGiven(rows, computed);
  return computed;
}

/** Refuses rows that have values for computed columns. */
export function refuseGiven(given: Schema, computed: readonly ComputedColumn[]): void {
  const names = new Set(given.fields.map(({ name }) => name));
  const column = computed.find(({ field }) => names.has(field.name));
  if (column !== undefined) throw isComputed(column.field.name, 'Omit it from the rows.');
}

export function isComputed(name: string, hint: string): ServiceError {
  return invalidInput(`The column ${quotePath([name])} is computed from other columns and cannot be written.`, hint);
}

/** Checks a new or stored definition, and returns the columns that it reads. */
export function checkDefinition(expression: GuardedSql, schema: Schema): ReadonlySet<string> {
  const volatile = findVolatile(expression);
  if (volatile !== undefined) {
    const reason = `${quoteForMessage(volatile)} returns a different value on each call`;
    throw invalidInput(`A computed column cannot be kept up to date: ${reason}.`, 'Use only columns and literals.');
  }
  const inputs = new Set<string>();
  for (const { token, column } of findReferences(expression, schema)) {
    if (column !== undefined) inputs.add(column);
    else if (SYSTEM_COLUMN.test(token.text)) {
      const hint = 'Use columns of the table.';
      throw invalidInput(
        `A computed column cannot read ${quoteForMessage(token.text)}, which can change without a write.`,
        hint,
      );
    }
  }
  const chained = schema.fields.find((field) => inputs.has(field.name) && computedText(field) !== undefined);
  if (chained !== undefined) {
    throw invalidInput(
      `A computed column cannot read ${quotePath([chained.name])}, which is also a computed column.`,
      'Write the whole expression with columns that are not computed.',
    );
  }
  return inputs;
}

/** Addresses and versions of rows, which compaction and updates change. */
const SYSTEM_COLUMN = /^_(?:row|distance|score|relevance)/i;

function readDefinition(field: Field, text: string, schema: Schema, limits: SqlLimits): ComputedColumn {
  try {
    const guarded = guardSql(text, { name: 'expression', field: 'the definition' }, limits);
    const expression = useExactNames(schema, guarded);
    return { field, expression, inputs: checkDefinition(expression, schema) };
  } catch (cause) {
    const reason = cause instanceof ServiceError ? cause.detail : 'it cannot be read.';
    throw new ServiceError(
      'TableSchemaValidationError',
      `The definition of the computed column ${quotePath([field.name])} cannot be used: ${reason}`,
      { hint: 'Drop the column, and add it again with another definition.', cause },
    );
  }
}

/** A text that is not SQL reads nothing. */
function mayRead(text: string, schema: Schema, column: string): boolean {
  try {
    return findReferences(text, schema).some((reference) => reference.column === column);
  } catch {
    return false;
  }
}
