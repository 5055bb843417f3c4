import type { DataType, Field } from '../model/schema.ts';
import type { SqlLiteral } from './sql-literal.ts';

/** A value of the column that tells members of a group apart: equal texts in `value` are equal keys. */
export interface GroupKey {
  readonly value: string;
  readonly sql: string;
}

/** `undefined` when the engine would convert the literal, or refuse it, before it compares. */
export function toGroupKey(literal: SqlLiteral, { type, metadata }: Field): GroupKey | undefined {
  if (isExtension(metadata)) return undefined;
  if (literal.kind === 'integer') {
    return isInRange(literal.value, type) ? { value: String(literal.value), sql: literal.sql } : undefined;
  }
  return literal.kind === 'text' && isText(type) ? { value: literal.value, sql: literal.sql } : undefined;
}

/**
 * The literal as it may stand in a list with others for the same column, all of one type. `undefined` when the engine
 * would not convert it without loss, because what it makes of a list might then differ from what it makes of one.
 */
export function toGroupValue(literal: SqlLiteral, { type, metadata }: Field): string | undefined {
  if (isExtension(metadata)) return undefined;
  switch (literal.kind) {
    case 'integer':
      if (isFloat(type)) return isExact(literal.value) ? `${literal.sql}.0` : undefined;
      return isInRange(literal.value, type) ? literal.sql : undefined;
    case 'decimal':
      return isFloat(type) ? literal.sql : undefined;
    case 'text':
      return isText(type) ? literal.sql : undefined;
    case 'boolean':
      return type.kind === 'bool' ? literal.sql : undefined;
  }
}

function isExtension(metadata: Field['metadata']): boolean {
  return metadata.has('ARROW:extension:name');
}

function isInRange(value: bigint, type: DataType): boolean {
  if (type.kind !== 'int') return false;
  return (type.signed ? BigInt.asIntN(type.bits, value) : BigInt.asUintN(type.bits, value)) === value;
}

function isFloat(type: DataType): boolean {
  return type.kind === 'float' && type.bits >= 32;
}

/** Whether a 64-bit floating number is the same number, so that it does not matter when it becomes one. */
function isExact(value: bigint): boolean {
  return value >= BigInt(Number.MIN_SAFE_INTEGER) && value <= BigInt(Number.MAX_SAFE_INTEGER);
}

function isText(type: DataType): boolean {
  return type.kind === 'utf8' && type.layout !== 'view';
}
