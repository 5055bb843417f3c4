import { DataType, DateUnit, Date_, Schema, TimeUnit, Timestamp } from 'apache-arrow';
import type { Data, RecordBatch } from 'apache-arrow';
import type { RecordBatch as ParquetBatch } from 'parquet-wasm';
import { invalidInput } from '../../errors/service-error.ts';
import { toStreamBytes } from '../arrow/arrow-stream.ts';
import type { Batches } from '../format.ts';
import { makeBatch } from '../row-batches.ts';
import { buildData, toBigInt } from '../types/build-data.ts';
import { MILLISECONDS_PER_DAY } from '../types/times.ts';
import { valuesOf } from '../types/values-of.ts';
import { loadParquet } from './parquet-library.ts';

/** A row group is in memory until it is written. */
const GROUP_BYTES = 32 * 1024 * 1024;

/** The Arrow schema is stored in addition to the Parquet one, like other Arrow writers do. */
export async function* writeParquet(schema: Schema, batches: Batches): AsyncGenerator<Uint8Array> {
  const { Compression, Table, WriterPropertiesBuilder, transformParquetStream } = await loadParquet();
  const toParquet = (batch: RecordBatch): ParquetBatch => {
    const { schema: stored, data, numRows } = batch;
    if (!data.children.some(lacksBits)) return fromStream(toStreamBytes(stored, [batch]));
    const children = data.children.map((child) => buildData(child.type, [...valuesOf(child), someValue(child.type)]));
    return fromStream(toStreamBytes(stored, [makeBatch(stored, children, numRows + 1)])).slice(0, numRows);
  };
  const fromStream = (stream: Uint8Array): ParquetBatch => {
    const [batch] = Table.fromIPCStream(stream).recordBatches();
    if (batch === undefined) throw new TypeError('a stream without a batch');
    return batch;
  };
  const properties = new WriterPropertiesBuilder()
    .setCompression(Compression.SNAPPY)
    .setMaxRowGroupBytes(GROUP_BYTES)
    .build();
  const source = new Pulled(storedBatches(schema, batches), toParquet);
  try {
    const pieces: ReadableStream<Uint8Array> = await transformParquetStream(source.stream, properties);
    const reader = pieces.getReader();
    for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value;
  } catch (cause) {
    if (source.failure !== undefined) throw source.failure;
    throw invalidInput('A column has a type that Parquet does not support.', 'Omit the column, or write Arrow.', cause);
  }
  // If its input fails, the writer just ends the file.
  if (source.failure !== undefined) throw source.failure;
}

/** The batches as a stream for the writer, which does not report why its input failed. */
class Pulled {
  failure: Error | undefined;
  readonly stream: ReadableStream<ParquetBatch>;

  constructor(batches: AsyncGenerator<RecordBatch>, toParquet: (batch: RecordBatch) => ParquetBatch) {
    this.stream = new ReadableStream({
      pull: async (controller) => {
        try {
          const next = await batches.next();
          if (next.done === true) return controller.close();
          controller.enqueue(toParquet(next.value));
        } catch (error) {
          this.failure = error instanceof Error ? error : new Error('The rows could not be read.', { cause: error });
          controller.error(error);
        }
      },
    });
  }
}

/** Yields at least one batch, from which the writer learns the schema. */
async function* storedBatches(schema: Schema, batches: Batches): AsyncGenerator<RecordBatch> {
  const fields = schema.fields.map((field) => field.clone({ type: storedType(field.type) }));
  const stored = new Schema(fields, schema.metadata);
  let isEmpty = true;
  for await (const { data, numRows } of batches) {
    if (numRows === 0) continue;
    isEmpty = false;
    yield makeBatch(stored, data.children.map(toStored), numRows);
  }
  if (isEmpty)
    yield makeBatch(
      stored,
      fields.map(({ type }) => buildData(type, [])),
      0,
    );
}

/** `apache-arrow` writes no bits for booleans that are all null, which other Arrow readers refuse. */
function lacksBits({ type, length, nullCount, children }: Data): boolean {
  return (DataType.isBool(type) && length > 0 && nullCount >= length) || children.some(lacksBits);
}

/** A value without null booleans; its row is removed again. */
function someValue(type: DataType): unknown {
  if (DataType.isBool(type)) return false;
  if (DataType.isNull(type)) return null;
  if (DataType.isDictionary(type)) return someValue(type.dictionary);
  if (DataType.isUtf8(type) || DataType.isLargeUtf8(type)) return '';
  if (DataType.isBinary(type) || DataType.isLargeBinary(type)) return new Uint8Array();
  if (DataType.isFixedSizeBinary(type)) return new Uint8Array(type.byteWidth);
  if (DataType.isFixedSizeList(type)) return Array.from({ length: type.listSize }, () => someValue(type.valueType));
  if (DataType.isList(type)) return [someValue(type.valueType)];
  if (DataType.isMap(type)) return [{ key: someValue(type.keyType), value: someValue(type.valueType) }];
  if (DataType.isStruct(type)) {
    return Object.fromEntries(type.children.map((child) => [child.name, someValue(child.type)]));
  }
  return 0;
}

/** Parquet has neither timestamps in seconds nor dates in milliseconds: other readers would see plain numbers. */
function storedType(type: DataType): DataType {
  if (DataType.isTimestamp(type) && type.unit === TimeUnit.SECOND) {
    return new Timestamp(TimeUnit.MILLISECOND, type.timezone);
  }
  return DataType.isDate(type) && type.unit === DateUnit.MILLISECOND ? new Date_(DateUnit.DAY) : type;
}

function toStored(data: Data): Data {
  const type = storedType(data.type);
  if (type === data.type) return data;
  const convert = DataType.isDate(type)
    ? (value: unknown) => Math.floor(Number(value) / MILLISECONDS_PER_DAY)
    : (value: unknown) => toBigInt(value) * 1000n;
  return buildData(
    type,
    valuesOf(data).map((value) => (value === null ? null : convert(value))),
  );
}
