import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Field, Float32, Int64, List, RecordBatch, Schema, Struct, makeData, tableToIPC, Table } from 'apache-arrow';
import * as parquet from 'parquet-wasm';
import { countOf, toComparison } from '../../measure.ts';
import type { Result } from '../../measure.ts';
import { BENCH_KEY } from '../../server-process.ts';
import type { Bench } from '../scenario.ts';

const run = promisify(execFile);
const ROWS = 20_000;
const LENGTH = 384;
const ROUNDS = 5;
const MEGABYTE = 1e6;

/** As users run it: the whole command, including its start, with the server on the same machine. */
export async function* measureImport(bench: Bench): AsyncGenerator<Result> {
  for (const codec of ['snappy', 'zstd'] as const) {
    const path = join(bench.folder, `vectors-${codec}.parquet`);
    await writeFile(path, makeParquet(codec));
    const [seconds, peaks]: [number[], number[]] = [[], []];
    for (let round = 0; round < ROUNDS; round += 1) {
      const imported = await importFile(bench, path, `import-${codec}-${round}`);
      seconds.push(imported.seconds);
      peaks.push(imported.peakBytes / MEGABYTE);
    }
    yield countOf(`import of 30 MB of Parquet (${codec}), seconds`, seconds, 2);
    yield countOf(`import of 30 MB of Parquet (${codec}), peak memory in MB`, peaks, 300);
    yield* compareReaders(path, codec);
  }
}

/** Reading alone, compared with a popular reader in JavaScript. */
async function* compareReaders(path: string, codec: string): AsyncGenerator<Result> {
  const [http, engine]: [number[], number[]] = [[], []];
  const peaks: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const [ours, other] = [await readWith('formats', path), await readWith('hyparquet', path)];
    http.push(ROWS / ours.seconds);
    engine.push(ROWS / other.seconds);
    peaks.push(ours.peakBytes / other.peakBytes);
  }
  yield toComparison({
    name: `reading Parquet (${codec}), rows a second relative to hyparquet`,
    goal: 1.5,
    http,
    engine,
  });
  yield countOf(`reading Parquet (${codec}), peak memory relative to hyparquet`, peaks, 0.7);
}

interface Measured {
  readonly seconds: number;
  readonly peakBytes: number;
}

const PEAK = 'process.on("exit",()=>process.stderr.write("peak "+process.resourceUsage().maxRSS))';

async function importFile({ port }: Bench, path: string, table: string): Promise<Measured> {
  const main = fileURLToPath(new URL('../../../bundle/main.js', import.meta.url));
  const words = ['import', path, table, '--server', `http://127.0.0.1:${port}`, '--key', BENCH_KEY, '--json'];
  const startedAt = performance.now();
  const { stdout, stderr } = await run(process.execPath, ['--import', `data:text/javascript,${PEAK}`, main, ...words]);
  const seconds = (performance.now() - startedAt) / 1000;
  const { rows }: { rows: number } = JSON.parse(stdout);
  if (rows !== ROWS) throw new Error(`${rows} rows were imported`);
  return { seconds, peakBytes: Number(/peak (\d+)/.exec(stderr)?.[1]) * 1024 };
}

async function readWith(reader: string, path: string): Promise<Measured> {
  const script = fileURLToPath(new URL('./read-parquet.js', import.meta.url));
  const { stdout } = await run(process.execPath, [script, reader, path]);
  const measured: Measured & { rows: number } = JSON.parse(stdout);
  if (measured.rows !== ROWS) throw new Error(`${reader} read ${measured.rows} rows`);
  return measured;
}

/** Lists of floats, the form in which most writers store vectors in Parquet. */
function makeParquet(codec: 'snappy' | 'zstd'): Uint8Array {
  const item = new Field('item', new Float32(), true);
  const schema = new Schema([new Field('id', new Int64(), true), new Field('embedding', new List(item), true)]);
  const values = Float32Array.from({ length: ROWS * LENGTH }, () => Math.random() - 0.5);
  const child = makeData({ type: new Float32(), data: values, length: values.length });
  const valueOffsets = Int32Array.from({ length: ROWS + 1 }, (_unused, row) => row * LENGTH);
  const children = [
    makeData({ type: new Int64(), data: BigInt64Array.from({ length: ROWS }, (_unused, row) => BigInt(row)) }),
    makeData({ type: new List(item), length: ROWS, valueOffsets, child }),
  ];
  const batch = new RecordBatch(schema, makeData({ type: new Struct(schema.fields), length: ROWS, children }));
  const properties = new parquet.WriterPropertiesBuilder()
    .setCompression(codec === 'zstd' ? parquet.Compression.ZSTD : parquet.Compression.SNAPPY)
    .build();
  const table = parquet.Table.fromIPCStream(tableToIPC(new Table([batch]), 'stream'));
  return parquet.writeParquet(table, properties);
}
