import { createReadStream } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { performance } from 'node:perf_hooks';
import { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import { openReader } from '../../../src/formats/open-reader.ts';

/** Reads a Parquet file with one of two readers, and prints the time and memory used. */
const READERS: Readonly<Record<string, (path: string) => Promise<number>>> = {
  formats: readBatches,
  hyparquet: readObjects,
};

async function readBatches(path: string): Promise<number> {
  const { size } = await stat(path);
  const file = await open(path);
  const slice = async (start: number, end: number): Promise<ArrayBuffer> => {
    const { buffer, bytesRead } = await file.read(new Uint8Array(end - start), 0, end - start, start);
    return buffer.buffer.slice(0, bytesRead);
  };
  const reader = await openReader({ size, slice });
  let rows = 0;
  for await (const { batch } of reader.batches()) rows += batch.numRows;
  await file.close();
  return rows;
}

async function readObjects(path: string): Promise<number> {
  const file = await asyncBufferFromFile(path);
  const metadata = await parquetMetadataAsync(file);
  let [row, rows] = [0, 0];
  for (const group of metadata.row_groups) {
    const end = row + Number(group.num_rows);
    rows += (await parquetReadObjects({ file, metadata, compressors, rowStart: row, rowEnd: end })).length;
    row = end;
  }
  return rows;
}

const [reader = '', path = ''] = process.argv.slice(2);
// Loads the file into the page cache for both readers.
for await (const piece of createReadStream(path)) void piece;
const startedAt = performance.now();
const rows = (await READERS[reader]?.(path)) ?? 0;
const seconds = (performance.now() - startedAt) / 1000;
process.stdout.write(JSON.stringify({ rows, seconds, peakBytes: process.resourceUsage().maxRSS * 1024 }));
