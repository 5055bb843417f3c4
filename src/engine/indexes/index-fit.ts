import { invalidInput } from '../../errors/service-error.ts';
import type { ServiceError } from '../../errors/service-error.ts';
import { describeType } from '../../arrow/schema/type-name.ts';
import { quotePath, requireField, resolveField } from '../../model/field-path.ts';
import type { FieldPath } from '../../model/field-path.ts';
import type { IndexRequest, IndexSpec, VectorIndexSpec } from '../../model/index-spec.ts';
import type { DistanceType } from '../../model/query.ts';
import { vectorDimension } from '../../model/schema.ts';
import type { DataType, Field, Schema } from '../../model/schema.ts';

/**
 * The index as it can be built on this table, or why it cannot. What the engine would answer with a panic is refused
 * here; what it refuses in words of its own is left to it.
 */
export function fitIndex({ spec, column }: IndexRequest, schema: Schema, rows: number): IndexSpec {
  const field = requireField(schema, column);
  refuseInsideLists(schema, column);
  switch (spec.kind) {
    case 'vector':
      return fitVectorIndex(spec, { field, column, rows });
    case 'scalar':
      if (spec.type === 'FM' && column.length > 1) throw nestedFm(column);
      return spec;
    case 'full-text':
      return spec;
  }
}

/** The engine finds such a field, and then fails to read it. */
function refuseInsideLists(schema: Schema, column: FieldPath): void {
  for (let length = 1; length < column.length; length += 1) {
    const [first, ...rest] = column.slice(0, length);
    const parent = first === undefined ? undefined : resolveField(schema, [first, ...rest]);
    if (parent === undefined || parent.type.kind === 'struct') continue;
    throw invalidInput(
      `The field ${quotePath(column)} is inside a list and cannot be indexed.`,
      'Index the list itself, or a field that is in structs only.',
    );
  }
}

/** It could be built, but no table that has it could be compacted any more. */
function nestedFm(column: FieldPath): ServiceError {
  return invalidInput(
    `The nested field ${quotePath(column)} cannot have an FM index.`,
    'Make an FTS or BITMAP index, or an FM index on a top-level column.',
  );
}

interface VectorColumn {
  readonly field: Field;
  readonly column: FieldPath;
  readonly rows: number;
}

function fitVectorIndex(spec: VectorIndexSpec, target: VectorColumn): VectorIndexSpec {
  const { field, column, rows } = target;
  const dimension = vectorDimension(field.type);
  if (dimension === undefined) {
    throw invalidInput(
      `The column ${quotePath(column)} is a ${describeType(field.type)}, on which no ${spec.type} index can be made.`,
      'A vector index needs a fixed-size list of floats, or of unsigned bytes.',
    );
  }
  if (rows === 0) {
    throw invalidInput('The table has no rows from which a vector index could learn.', 'Insert rows first.');
  }
  checkQuantizer(spec, dimension);
  return { ...spec, distanceType: fitDistance(spec, target), partitions: fitPartitions(spec, rows) };
}

function checkQuantizer({ type, subVectors, bits }: VectorIndexSpec, dimension: number): void {
  if (type === 'IVF_RQ' && dimension % 8 !== 0) {
    throw invalidInput(
      `An IVF_RQ index needs a dimension divisible by 8; it is ${dimension}.`,
      'Use IVF_PQ, IVF_FLAT or IVF_HNSW_SQ.',
    );
  }
  if (bits === 4 && dimension % 2 !== 0) {
    throw invalidInput(`num_bits is 4, which needs an even dimension; it is ${dimension}.`);
  }
  if (subVectors === undefined) return;
  if (dimension % subVectors !== 0) {
    throw invalidInput(`num_sub_vectors is ${subVectors}, which does not divide the dimension ${dimension}.`);
  }
  if (bits === 4 && subVectors % 2 !== 0) {
    throw invalidInput(`num_sub_vectors is ${subVectors}; with num_bits 4 it must be even.`);
  }
}

/** Trained with a distance that does not suit its vectors, the engine panics. */
function fitDistance(spec: VectorIndexSpec, { field, column }: VectorColumn): DistanceType {
  const allowed = distancesOf(field.type);
  if (allowed[0] === 'hamming' && spec.type !== 'IVF_FLAT') {
    throw invalidInput(
      `A column of bytes can have no ${spec.type} index.`,
      'Use IVF_FLAT with the distance type hamming.',
    );
  }
  const distance = spec.distanceType ?? allowed[0];
  if (allowed.includes(distance)) return distance;
  throw invalidInput(
    `distance_type is ${distance}, which the vectors of ${quotePath(column)} do not have.`,
    `Use ${allowed.join(' or ')}.`,
  );
}

function distancesOf(type: DataType): readonly [DistanceType, ...DistanceType[]] {
  if (type.kind === 'list') return ['cosine'];
  const item = type.kind === 'fixed-size-list' ? type.item.type : type;
  return item.kind === 'int' ? ['hamming'] : ['l2', 'cosine', 'dot'];
}

function fitPartitions(spec: VectorIndexSpec, rows: number): number | undefined {
  const { partitions, targetPartitionSize } = spec;
  if (targetPartitionSize !== undefined) return Math.max(1, Math.round(rows / targetPartitionSize));
  if (partitions !== undefined && partitions > rows) {
    throw invalidInput(`num_partitions is ${partitions}, but the table has only ${rows} rows.`);
  }
  return partitions;
}
