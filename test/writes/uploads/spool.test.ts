import assert from 'node:assert/strict';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { ArrowChunk } from '../../../src/arrow/stream/checked-stream.ts';
import { Spool } from '../../../src/writes/uploads/spool.ts';
import { refusal } from '../../support/refusal.ts';
import { makeFolder } from '../../support/temporary-folder.ts';

/** Chunks of so many bytes, each filled with its own number; counts how many were given back. */
function toChunks(sizes: readonly number[]): { readonly chunks: ArrowChunk[]; readonly released: () => number } {
  let released = 0;
  const chunks = sizes.map((size, index) => ({
    file: Buffer.alloc(size, index + 1),
    rows: size,
    batches: size === 0 ? 0 : 1,
    nullColumns: new Set<string>(),
    release: () => void (released += 1),
  }));
  return { chunks, released: () => released };
}

async function* over(chunks: readonly ArrowChunk[], failure?: Error): AsyncGenerator<ArrowChunk> {
  yield* chunks;
  if (failure !== undefined) throw failure;
}

test('returns what it took, in order, and deletes it on release', async (t) => {
  const folder = await makeFolder(t);
  const spool = await Spool.open(folder, 100);
  const { chunks, released } = toChunks([10, 20, 30]);
  const taken = await spool.take({ pulled: chunks.slice(0, 1), rest: over(chunks.slice(1)) }, 'ann');
  assert.equal(released(), 3);
  const source = await spool.read(taken);
  assert.equal(source.isLong, true);
  const files: Buffer[] = [];
  for (let next = await source.rest.next(); next.done !== true; next = await source.rest.next())
    files.push(next.value.file);
  assert.deepEqual(
    files,
    chunks.map(({ file }) => file),
  );
  await spool.remove(taken);
  assert.deepEqual(await readdir(join(folder, String(process.pid))), []);
});

test('chunks without rows are left out, but for one that has the schema', async (t) => {
  const spool = await Spool.open(await makeFolder(t), 100);
  const readCounts = async (rows: readonly number[]): Promise<readonly number[]> => {
    const { pulled, rest } = await spool.read(
      await spool.take({ pulled: [], rest: over(toChunks(rows).chunks) }, 'ann'),
    );
    assert.deepEqual(pulled, []);
    const counts: number[] = [];
    for (let next = await rest.next(); next.done !== true; next = await rest.next()) counts.push(next.value.rows);
    return counts;
  };
  assert.deepEqual(await readCounts([0, 5, 0]), [5]);
  assert.deepEqual(await readCounts([0, 0]), [0]);
});

test('leaves nothing of a stream that fails', async (t) => {
  const folder = await makeFolder(t);
  const spool = await Spool.open(folder, 100);
  const failure = new Error('the sender went away');
  await assert.rejects(spool.take({ pulled: [], rest: over(toChunks([10, 20]).chunks, failure) }, 'ann'), failure);
  assert.deepEqual(await readdir(join(folder, String(process.pid))), []);
  await spool.take({ pulled: [], rest: over(toChunks([75]).chunks) }, 'ann');
});

test('refuses a stream larger than the share of one caller, and one for which others leave no space', async (t) => {
  const spool = await Spool.open(await makeFolder(t), 100);
  const take = async (rows: readonly number[], caller: string) =>
    spool.take({ pulled: [], rest: over(toChunks(rows).chunks) }, caller);
  await assert.rejects(take([50, 30], 'ann'), refusal('PayloadTooLarge', /spoolBytesMax/));
  await take([60], 'ann');
  await assert.rejects(take([50], 'bob'), refusal('ServiceUnavailable', /Other requests/));
});

test('leaves space for others, however much one caller sends', async (t) => {
  const spool = await Spool.open(await makeFolder(t), 100);
  const take = async (rows: readonly number[], caller: string) =>
    spool.take({ pulled: [], rest: over(toChunks(rows).chunks) }, caller);
  const first = await take([40], 'ann');
  await take([30], 'ann');
  await assert.rejects(take([10], 'ann'), refusal('ServiceUnavailable', /this caller/));
  await take([25], 'bob');
  await spool.remove(first);
  await take([40], 'ann');
});

test('a disk that cannot be written is a service that is not available, until it can', async (t) => {
  const folder = await makeFolder(t);
  await writeFile(join(folder, 'file'), '');
  const spool = await Spool.open(join(folder, 'file'), 100);
  const take = async () => spool.take({ pulled: [], rest: over(toChunks([5]).chunks) }, 'ann');
  await assert.rejects(take(), refusal('ServiceUnavailable'));
  await rm(join(folder, 'file'));
  assert.equal((await take()).length, 1);
});

test('removes what processes that are no more have left, and only that', async (t) => {
  const folder = await makeFolder(t);
  const gone = '2147483646';
  for (const name of [gone, String(process.ppid), String(process.pid)]) {
    await mkdir(join(folder, name));
    await writeFile(join(folder, name, '1.arrow'), 'rows');
  }
  await Spool.open(folder, 100);
  assert.deepEqual(await readdir(folder), [String(process.ppid)]);
});
