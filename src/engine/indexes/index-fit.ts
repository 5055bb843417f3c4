import { describeType } from '../../arrow/schema/type-name.ts';
import { invalidInput } from '../../errors/service-error.ts';
import { quotePath, requireField } from '../../model/field-path.ts';
import type { FieldPath } from '../../model/field-path.ts';
import type { IndexRequest, IndexSpec, VectorIndexSpec } from '../../model/index-spec.ts';
import type { DistanceType } from '../../model/query.ts';
import { dictionaryNotIndexed } from '../../model/refusals.ts';
import { isJson, vectorDimension } from '../../model/schema.ts';
import type { DataType, Schema } from '../../model/schema.ts';
import { formatCount } from '../../model/value-text.ts';
import { isInsideList } from '../commits/schema-fit.ts';

/** Completes the index for this table. Refuses what the engine would panic at; leaves other checks to the engine. */
export function fitIndex({ spec, column }: IndexRequest, schema: Schema, rows: number): IndexSpec {
  const field = requireField(schema, column);
  const { type } = field;
  if (isInsideList(schema, column)) {
    throw invalidInput(
      `The field ${quotePath(column)} is inside a list and cannot be indexed.`,
      'Index the list itself, or a field outside lists.',
    );
  }
  if (type.kind === 'dictionary') throw dictionaryNotIndexed(column);
  if (spec.kind === 'vector') return fitVectorIndex(spec, { type, column, rows });
  // The engine would build it, but could no longer compact the table.
  if (spec.type === 'FM' && column.length > 1) {
    throw invalidInput(
      `The nested field ${quotePath(column)} cannot have an FM index.`,
      'Create an FTS or BITMAP index, or an FM index on a top-level column.',
    );
  }
  // The engine would build it, but `contains`, the only function that uses it, does not accept JSON.
  if (spec.type === 'FM' && isJson(field)) {
    throw invalidInput(
      `The column ${quotePath(column)} contains JSON and cannot have an FM index.`,
      'Store the text to search in a separate column, and index that one.',
    );
  }
  return spec;
}

interface VectorColumn {
  readonly type: DataType;
  readonly column: FieldPath;
  readonly rows: number;
}

function fitVectorIndex(spec: VectorIndexSpec, target: VectorColumn): VectorIndexSpec {
  const { type, column, rows } = target;
  const dimension = vectorDimension(type);
  if (dimension === undefined) {
    throw invalidInput(
      `The column ${quotePath(column)} has the type ${describeType(type)}, which ${spec.type} indexes do not support.`,
      'A vector index needs a fixed-size list of floats or uint8.',
    );
  }
  if (rows === 0) {
    throw invalidInput('A vector index is trained on rows, and the table has none.', 'Insert rows first.');
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

/** The engine panics if it trains with a distance that does not apply to the vectors. */
function fitDistance(spec: VectorIndexSpec, { type, column }: VectorColumn): DistanceType {
  const allowed = distancesOf(type);
  if (allowed[0] === 'hamming' && spec.type !== 'IVF_FLAT') {
    throw invalidInput(
      `${spec.type} indexes do not support vectors of bytes.`,
      'Use IVF_FLAT with the distance type hamming.',
    );
  }
  const distance = spec.distanceType ?? allowed[0];
  if (allowed.includes(distance)) return distance;
  throw invalidInput(
    `distance_type is ${distance}, which the vectors of ${quotePath(column)} do not support.`,
    `Use ${allowed.join(' or ')}.`,
  );
}

function distancesOf(type: DataType): readonly [DistanceType, ...DistanceType[]] {
  if (type.kind === 'list') return ['cosine'];
  const item = type.kind === 'fixed-size-list' ? type.item.type : type;
  return item.kind === 'int' ? ['hamming'] : ['l2', 'cosine', 'dot'];
}

function fitPartitions(spec: VectorIndexSpec, rows: number): number | undefined {
  const { partitions, targetPartitionSize, partitionsMax = Infinity } = spec;
  if (targetPartitionSize !== undefined) {
    const wanted = rows / targetPartitionSize;
    if (wanted <= partitionsMax) return Math.max(1, Math.round(wanted));
    throw invalidInput(
      `target_partition_size is ${targetPartitionSize}, which would make ${formatCount(Math.round(wanted))} partitions; an index may have ${formatCount(partitionsMax)}.`,
      `Use at least ${Math.ceil(rows / partitionsMax)}.`,
    );
  }
  if (partitions !== undefined && partitions > rows) {
    throw invalidInput(`num_partitions is ${partitions}, but the table has only ${formatCount(rows)} rows.`);
  }
  return partitions;
}
