import type { RecordBatch, Schema } from 'apache-arrow';
import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import { toBase64 } from '../types/plain-value.ts';
import { END_OF_STREAM_BYTES, toStreamBytes } from '../arrow/arrow-stream.ts';
import { toElements, toParquet } from './parquet-schema.ts';
import type { RowWriter } from '../format.ts';
import { valuesOf } from '../types/values-of.ts';

/** Rows that one row group holds at most; batches are gathered until then. */
const GROUP_ROWS = 65_536;

/** The Arrow schema stands beside the Parquet one, as other writers of the Arrow family do it. */
export function parquetWriter(schema: Schema): RowWriter {
  const elements = schema.fields.flatMap(toElements);
  const writer = new ByteWriter();
  const file = new ParquetWriter({
    writer,
    schema: [{ name: 'schema', num_children: schema.fields.length }, ...elements],
    kvMetadata: [{ key: 'ARROW:schema', value: schemaText(schema) }],
  });
  const convert = schema.fields.map(({ type }) => toParquet(type));
  let columns: unknown[][] = schema.fields.map(() => []);
  let rows = 0;
  const closeGroup = (): void => {
    if (rows === 0) return;
    const columnData = schema.fields.map(({ name }, index) => ({ name, data: columns[index] ?? [] }));
    // The writer gives a promise only when its bytes go elsewhere; these stay in memory until they are taken.
    void file.write({ columnData, rowGroupSize: GROUP_ROWS });
    columns = schema.fields.map(() => []);
    rows = 0;
  };
  return {
    begin: () => takeBytes(writer),
    add(batch: RecordBatch) {
      for (const [index, data] of batch.data.children.entries()) {
        const column = columns[index];
        for (const value of valuesOf(data)) column?.push(convert[index]?.(value));
      }
      rows += batch.numRows;
      if (rows >= GROUP_ROWS) closeGroup();
      return takeBytes(writer);
    },
    end() {
      closeGroup();
      void file.finish();
      return takeBytes(writer);
    },
  };
}

function takeBytes(writer: ByteWriter): Uint8Array {
  const bytes = writer.getBytes().slice();
  writer.index = 0;
  return bytes;
}

function schemaText(schema: Schema): string {
  const stream = toStreamBytes(schema, []);
  return toBase64(stream.subarray(0, stream.length - END_OF_STREAM_BYTES));
}
