import { describeType } from '../../arrow/schema/type-name.ts';
import { invalidInput } from '../../errors/service-error.ts';
import { quotePath, requireField } from '../../model/field-path.ts';
import type { FieldPath } from '../../model/field-path.ts';
import type { Query } from '../../model/query.ts';
import type { DataType, Field, Schema } from '../../model/schema.ts';

export interface VectorColumn {
  readonly path: FieldPath;
  /** Each row has a list of vectors, and several query vectors form one search. */
  readonly isMultiVector: boolean;
}

/** The column to search: the one that the query names, otherwise the only one that fits its vectors. */
export function requireVectorColumn(query: Query, schema: Schema): VectorColumn {
  const dimension = requireDimension(query.vectors);
  const { path, type } =
    query.vectorColumn === undefined
      ? requireOnlyCandidate(schema, dimension)
      : requireNamed(schema, query.vectorColumn, dimension);
  requireValuesFit(query.vectors, type, path);
  return { path, isMultiVector: type.isMultiVector };
}

interface VectorType {
  readonly dimension: number;
  readonly isMultiVector: boolean;
  /** Vectors of bytes, compared bit by bit. */
  readonly isBytes: boolean;
}

interface Candidate {
  readonly path: FieldPath;
  readonly type: VectorType;
}

/** The engine panics if the vectors of one query differ in length. */
function requireDimension(vectors: Query['vectors']): number {
  const [first, ...others] = vectors;
  const dimension = first?.length ?? 0;
  const odd = others.find((vector) => vector.length !== dimension);
  if (odd === undefined && dimension > 0) return dimension;
  throw invalidInput(
    odd === undefined
      ? 'The query vector is empty.'
      : `The query vectors differ in length: ${dimension} and ${odd.length}.`,
  );
}

function requireNamed(schema: Schema, path: FieldPath, dimension: number): Candidate {
  const field = requireField(schema, path);
  const type = findVectorType(field.type);
  if (type?.dimension === dimension) return { path, type };
  const name = quotePath(path);
  if (type === undefined) {
    throw invalidInput(
      `The column ${name} is not a vector column.`,
      `It has the type ${describeType(field.type)}; a vector is a fixed-size list of floats or uint8.`,
    );
  }
  throw invalidInput(`The query vector has ${dimension} dimensions; the column ${name} has ${type.dimension}.`);
}

function requireOnlyCandidate(schema: Schema, dimension: number): Candidate {
  const candidates = schema.fields.flatMap((field) => findVectors(field, [field.name]));
  const fitting = candidates.filter(({ type }) => type.dimension === dimension);
  const [only] = fitting;
  if (only !== undefined && fitting.length === 1) return only;
  if (fitting.length > 1) {
    throw invalidInput(
      `Several vector columns have ${dimension} dimensions: ${list(fitting)}.`,
      'Set vector_column to one of them.',
    );
  }
  const others = candidates.length === 0 ? 'It has no vector column.' : `Its vector columns are ${list(candidates)}.`;
  throw invalidInput(`The table has no vector column of ${dimension} dimensions.`, others);
}

function findVectors(field: Field, path: FieldPath): readonly Candidate[] {
  const type = findVectorType(field.type);
  if (type !== undefined) return [{ path, type }];
  if (field.type.kind !== 'struct') return [];
  return field.type.children.flatMap((child) => findVectors(child, [...path, child.name]));
}

/** Omits signed bytes: the engine stores such vectors, but has no distance for them. */
export function findVectorType(type: DataType): VectorType | undefined {
  if (type.kind === 'list') {
    const inner = findVectorType(type.item.type);
    return inner === undefined || inner.isMultiVector ? undefined : { ...inner, isMultiVector: true };
  }
  if (type.kind !== 'fixed-size-list') return undefined;
  const item = type.item.type;
  const isBytes = item.kind === 'int' && item.bits === 8 && !item.signed;
  if (!isBytes && item.kind !== 'float') return undefined;
  return { dimension: type.length, isMultiVector: false, isBytes };
}

/** Query vectors reach the engine as 32-bit floats, which it silently converts to the column's range. */
function requireValuesFit(vectors: Query['vectors'], type: VectorType, path: FieldPath): void {
  const fits = type.isBytes ? isByte : isSingleFloat;
  for (const vector of vectors) {
    const odd = vector.find((value) => !fits(value));
    if (odd === undefined) continue;
    const range = type.isBytes ? 'whole numbers from 0 to 255' : '32-bit floats';
    throw invalidInput(
      `The query vector has the value ${odd}; values for the column ${quotePath(path)} must be ${range}.`,
    );
  }
}

function isByte(value: number): boolean {
  return Number.isInteger(value) && value >= 0 && value <= 255;
}

function isSingleFloat(value: number): boolean {
  return Number.isFinite(Math.fround(value));
}

const LISTED_MAX = 20;

function list(candidates: readonly Candidate[]): string {
  const names = candidates.slice(0, LISTED_MAX).map(({ path, type }) => `${quotePath(path)} (${type.dimension})`);
  return candidates.length > LISTED_MAX ? `${names.join(', ')} and more` : names.join(', ');
}
