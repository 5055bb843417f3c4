import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tableFromIPC, tableToIPC } from 'apache-arrow';
import type { Table } from 'apache-arrow';
import { openArrowStream } from '../../src/arrow/stream/checked-stream.ts';
import type { ArrowChunk, CheckedStream } from '../../src/arrow/stream/checked-stream.ts';
import { pullChunks } from '../../src/arrow/stream/chunk-source.ts';
import { openEngine } from '../../src/engine/engine.ts';
import type { CommitPlan, Engine, EngineSettings, WriteTarget } from '../../src/engine/engine.ts';
import type { ArrowLimits, EngineLimits } from '../../src/model/limits.ts';
import type { GuardedSql, Query } from '../../src/model/query.ts';
import type { TableLocation, TableState } from '../../src/model/table.ts';
import { openStorages } from '../../src/storage/storages.ts';
import type { StorageSettings, Storages } from '../../src/storage/storages.ts';
import { loadNative } from '../../src/engine/native/native.ts';
import type { NativeConnection, NativeTable } from '../../src/engine/native/native.ts';

import { sqlLimits } from '../guard/limits.ts';
import type { Owner } from '../support/temporary-folder.ts';

const MiB = 2 ** 20;

export const ARROW_LIMITS: ArrowLimits = {
  streamBytesMax: 64 * MiB,
  messageBytesMax: 32 * MiB,
  metadataBytesMax: 4 * MiB,
  decodedBytesMax: 256 * MiB,
  decodedRatioMax: 100,
  decodedFloorBytes: 64 * MiB,
  columnsMax: 4000,
  depthMax: 32,
  rowsPerBatchMax: 10_000_000,
  dictionaryBytesMax: 16 * MiB,
  chunkBytes: 16 * MiB,
  chunksMax: 1000,
  keptChunksMax: 4,
};

export const ENGINE_LIMITS: EngineLimits = {
  openTablesMax: 16,
  queueWaitingMax: 64,
  queueWaitingPerCallerMax: 64,
  queueWaitSeconds: 30,
  queueHoldSeconds: 600,
  writeAttemptsMax: 5,
  orphanedQueriesMax: 16,
  orphanedQueriesPerCallerMax: 8,
  bulkWritesMax: 4,
  threadNice: 0,
  updateGroupMax: 64,
  insertGroupMax: 64,
  insertGroupRowsMax: 100_000,
  insertGroupBytesMax: 16 * MiB,
  backfillBytes: 32 * MiB,
  batchGatherMilliseconds: 0,
  sharedQueriesMax: 1,
  indexCacheBytes: 64 * MiB,
  metadataCacheBytes: 64 * MiB,
  resultBatchBytes: MiB,
  manifestBytesMax: MiB,
  trialSeconds: 60,
  batchTablesMax: 10,
  mergeBytesMax: 16 * MiB,
  spoolBytesMax: 256 * MiB,
  uploadSessionsMax: 4,
  uploadSessionsPerCallerMax: 4,
  uploadPartsMax: 8,
  uploadIdleSeconds: 60,
};

/** An engine with a temporary storage root; both are removed after the test. */
export interface TestEngine {
  readonly root: string;
  readonly engine: Engine;
  readonly storages: Storages;
  readonly location: (directory?: string) => TableLocation;
}

export type TestEngineSettings = Partial<EngineSettings & StorageSettings>;

export async function openTestEngine(
  test: Owner,
  settings: TestEngineSettings = {},
  native = loadNative(),
): Promise<TestEngine> {
  const root = await mkdtemp(join(tmpdir(), 'tiltyard-engine-'));
  const schemasFolder = `${root}-schemas`;
  const defaults = { limits: ENGINE_LIMITS, sqlLimits, storageOptions: {}, querySeconds: 30, schemasFolder };
  const storages = openStorages({ sync: 'full', watchedTablesMax: 16, ...settings });
  const engine = await openEngine({ ...defaults, storages, ...settings }, native);
  test.after(async () => {
    await engine.close();
    storages.close();
    for (const folder of [root, schemasFolder]) await rm(folder, { recursive: true, force: true });
  });
  return { root, engine, storages, location: (directory = 'table') => ({ kind: 'listed', root, directory }) };
}

/** An engine with one table. */
export async function openTable(test: Owner, table: Table): Promise<TestEngine & { readonly table: TableState }> {
  const fixture = await openTestEngine(test);
  await fixture.engine.createTable(fixture.location(), await toStream(table), {});
  return { ...fixture, table: latest(fixture.location()) };
}

/** Commits a plan as the write pipeline would, but without queue, journal and sync. */
export async function commitPlan<Outcome>(
  engine: Engine,
  target: WriteTarget,
  plan: CommitPlan<Outcome>,
): Promise<Outcome & { readonly version: number }> {
  const { version, outcome } = await engine.useLatest(target, async (table) => (await plan.prepare(table)).commit());
  return { ...outcome, version };
}

/** The first chunk of a stream: all of it, when it is short. */
export async function toChunk(stream: CheckedStream): Promise<ArrowChunk> {
  const [chunk] = (await pullChunks(stream, 1)).pulled;
  if (chunk === undefined) throw new Error('The stream gave no chunk.');
  return chunk;
}

export async function toStream(table: Table, limits: Partial<ArrowLimits> = {}): Promise<CheckedStream> {
  return openArrowStream(pieces(tableToIPC(table, 'stream')), { ...ARROW_LIMITS, ...limits });
}

export async function readFixture(name: string): Promise<Buffer> {
  return readFile(new URL(`../../../test/fixtures/arrow/${name}.stream`, import.meta.url));
}

export async function openFixture(name: string, limits: Partial<ArrowLimits> = {}): Promise<CheckedStream> {
  return openArrowStream(pieces(await readFixture(name)), { ...ARROW_LIMITS, ...limits });
}

/** A stream of several chunks, so that writing it takes several commits. */
export async function openLong(): Promise<CheckedStream> {
  return openFixture('multi', { chunkBytes: 2048 });
}

export function withChunks(stream: CheckedStream, change: (chunk: ArrowChunk) => ArrowChunk): CheckedStream {
  async function* changed(): AsyncGenerator<ArrowChunk> {
    for await (const chunk of stream.chunks) yield change(chunk);
  }
  return { schema: stream.schema, chunks: changed() };
}

export function cutAfter(stream: CheckedStream, count: number, failure: Error): CheckedStream {
  async function* cut(): AsyncGenerator<ArrowChunk> {
    let given = 0;
    for await (const chunk of stream.chunks) {
      if (given === count) throw failure;
      given += 1;
      yield chunk;
    }
  }
  return { schema: stream.schema, chunks: cut() };
}

export async function* pieces(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

export function latest(location: TableLocation): TableState {
  return { location, branch: undefined, version: undefined };
}

/** What a guard would have passed. */
export function sql(text: string): GuardedSql {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Only a guard makes such texts; here the test vouches.
  return `(${text})` as GuardedSql;
}

export function toQuery(query: Partial<Query>): Query {
  return { vectors: [], prefilter: true, bypassVectorIndex: false, fastSearch: false, withRowId: false, ...query };
}

/** A connection that shares nothing with the engine under test: what another process would have. */
export async function connectApart(test: Owner, root: string, manifestEnabled = false): Promise<NativeConnection> {
  const native = loadNative();
  const session = new native.Session(BigInt(MiB), BigInt(MiB));
  const namespaceClientProperties = { manifest_enabled: String(manifestEnabled) };
  const options = { manifestEnabled, namespaceClientProperties, storageOptions: {}, session };
  const connection = await native.Connection.new(root, options);
  test.after(() => connection.close());
  return connection;
}

export async function openApart(test: Owner, { location, branch, version }: TableState): Promise<NativeTable> {
  const connection = await connectApart(test, location.root);
  const main = await connection.openTable(location.directory, [], {});
  const table = branch === undefined ? main : await (await main.branches()).checkout(branch, null);
  if (version !== undefined) await table.checkout(version);
  return table;
}

export type Row = Record<string, unknown>;

/** All rows, decoded. Without a filter, because filtered reads lose null structs. */
export async function readRows(test: Owner, state: TableState): Promise<readonly Row[]> {
  const table = await openApart(test, state);
  const batches = await table.query().execute(1_000_000, -1);
  const rows: Row[] = [];
  for (let batch = await batches.next(); batch !== null; batch = await batches.next()) {
    rows.push(...tableFromIPC(batch).toArray().map(toPlain));
  }
  return rows;
}

function toPlain(row: unknown): Row {
  const text = JSON.stringify(row, (_, value: unknown) => (typeof value === 'bigint' ? Number(value) : value));
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- A row of a table is an object of its columns.
  return JSON.parse(text) as Row;
}
