import type { RecordBatch, Vector } from 'apache-arrow';
import { readStream } from '../../../src/formats/arrow/arrow-source.ts';
import { countRows, openQuery } from '../../../src/client/rows.ts';
import { describeTable } from '../../../src/client/tables.ts';
import { parseFieldPath, sqlFieldReference } from '../../../src/model/field-path.ts';
import { findDimension } from '../../../src/plans/table-facts.ts';
import type { ColumnFact } from '../../../src/plans/table-facts.ts';
import type { Matrix } from '../../../src/vectors/principal-components.ts';
import type { QueryTableBody } from '../../../src/wire/data.ts';
import type { LabForm } from '../lab/form/lab-form.ts';
import { FormError, searchedColumn, toNumber } from '../lab/form/query-body.ts';
import type { Lab } from '../lab/run-lab.ts';
import { formatCount } from '../parts/format.ts';
import type { ColourValue } from './colouring.ts';
import { poolVectors, toPooling } from './pool-vectors.ts';
import type { Pooling } from './pool-vectors.ts';

/** Rows at regular intervals, each a point on the map. */
export interface Sample {
  readonly column: ColumnFact;
  readonly matrix: Matrix;
  /** As text: row ids have 64 bits. */
  readonly rowIds: readonly string[];
  readonly colours: readonly ColourValue[];
  /** The version that was read, for which the row ids are valid. */
  readonly version: number;
  /** Rows that pass the filter. */
  readonly total: number;
  /** Rows that were read but have no vector of finite numbers. */
  readonly skipped: number;
}

const POINTS_MAX = 20_000;
const VECTOR_BYTES_MAX = 128 * 1024 * 1024;
/** Assumed for a column with several vectors per row. */
const VECTORS_OF_ROW = 32;

export async function loadSample({ client, table, facts }: Lab, form: LabForm, signal: AbortSignal): Promise<Sample> {
  const column = searchedColumn(form, facts);
  const dimension = column === undefined ? undefined : findDimension(column.type);
  if (column === undefined || dimension === undefined) {
    throw new FormError('This table has no vector column.', 'The map needs one.');
  }
  const hasSeveral = column.type.type === 'list';
  const asked = toNumber('The number of points', form.points, 'points');
  if (asked < 2 || asked > POINTS_MAX) {
    throw new FormError(`Draw 2 to ${formatCount(POINTS_MAX)} points.`, 'Change the number of points.', 'points');
  }
  const rowBytes = dimension * 4 * (hasSeveral ? VECTORS_OF_ROW : 1);
  const limit = Math.min(asked, Math.max(2, Math.floor(VECTOR_BYTES_MAX / rowBytes)));
  const state = {
    ...(form.branch === '' ? {} : { branch: form.branch }),
    ...(form.version === '' ? {} : { version: toNumber('The version', form.version, 'version') }),
  };
  const { version = 0 } = await describeTable(client, table, state);
  const filter = form.filter.trim();
  const at = { ...state, version };
  const total = await countRows(client, table, { ...at, ...(filter === '' ? {} : { predicate: filter }) });
  const body = {
    ...at,
    ...toSampleQuery(filter, total, limit),
    columns: { column_aliases: toAliases(column, form.colour) },
  };
  const response = await openQuery(client, table, body, { signal });
  const { batches } = await readStream(client.bytes(response));
  const collector = new Collector(limit, dimension, hasSeveral ? toPooling(form.pool) : undefined);
  for await (const batch of batches) collector.add(batch);
  return { column, version, total, ...collector.done() };
}

/** Every n-th row by its id, which takes one scan and needs no order. */
function toSampleQuery(filter: string, total: number, limit: number): QueryTableBody {
  const step = Math.ceil(total / limit);
  const parts = [...(filter === '' ? [] : [`(${filter})`]), ...(step <= 1 ? [] : [`_rowid % ${step} = 0`])];
  return { k: limit, with_row_id: true, ...(parts.length === 0 ? {} : { filter: parts.join(' AND ') }) };
}

function toAliases(column: ColumnFact, colour: string): Record<string, string> {
  return { vector: toReference(column.path), ...(colour === '' ? {} : { colour: toReference(colour) }) };
}

function toReference(path: string): string {
  return sqlFieldReference(parseFieldPath(path));
}

class Collector {
  readonly #values: Float32Array;
  readonly #dimension: number;
  readonly #pooling: Pooling | undefined;
  readonly #rowIds: string[] = [];
  readonly #colours: ColourValue[] = [];
  #skipped = 0;

  /** With pooling, rows have several vectors. */
  constructor(limit: number, dimension: number, pooling: Pooling | undefined) {
    this.#values = new Float32Array(limit * dimension);
    this.#dimension = dimension;
    this.#pooling = pooling;
  }

  add(batch: RecordBatch): void {
    const [vectors, ids, colours] = ['vector', '_rowid', 'colour'].map((name) => batch.getChild(name));
    for (let row = 0; row < batch.numRows; row += 1) {
      const value: Vector | null | undefined = vectors?.get(row);
      const numbers = this.#pooling === undefined ? numbersOf(value) : pooledOf(value, this.#pooling);
      if (numbers?.length === this.#dimension && isFiniteVector(numbers)) {
        this.#values.set(numbers, this.#rowIds.length * this.#dimension);
        this.#rowIds.push(String(ids?.get(row)));
        this.#colours.push(toColourValue(colours?.get(row)));
      } else this.#skipped += 1;
    }
  }

  done(): Pick<Sample, 'matrix' | 'rowIds' | 'colours' | 'skipped'> {
    const rows = this.#rowIds.length;
    const values = this.#values.subarray(0, rows * this.#dimension);
    const matrix = { values, rows, columns: this.#dimension };
    return { matrix, rowIds: this.#rowIds, colours: this.#colours, skipped: this.#skipped };
  }
}

/** An item of a list column is an Arrow vector; half-precision numbers must be read one by one. */
function numbersOf(value: Vector | null | undefined): Float32Array | undefined {
  if (value === null || value === undefined) return undefined;
  const array: unknown = value.toArray();
  return array instanceof Float32Array ? array : Float32Array.from(value, Number);
}

function pooledOf(value: Vector | null | undefined, pooling: Pooling): Float32Array | undefined {
  if (value === null || value === undefined) return undefined;
  return poolVectors(
    Array.from(value, (each: Vector | null) => numbersOf(each)).filter((each) => each !== undefined),
    pooling,
  );
}

/** A plain loop: a sample has tens of millions of numbers. */
function isFiniteVector(numbers: Float32Array): boolean {
  for (let at = 0; at < numbers.length; at += 1) if (!Number.isFinite(numbers[at])) return false;
  return true;
}

function toColourValue(value: unknown): ColourValue {
  if (value === null || value === undefined) return null;
  if (typeof value === 'number' || typeof value === 'bigint') return Number(value);
  if (typeof value === 'string' || typeof value === 'boolean') return String(value);
  return value instanceof Date ? value.getTime() : null;
}
