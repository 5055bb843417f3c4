import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ArrowChunk, CheckedStream } from '../../../src/arrow/stream/checked-stream.ts';
import { releaseChunks, pullChunks, writeChunks } from '../../../src/arrow/stream/chunk-source.ts';

/** Counts how many chunks are out at once. As with real ones, only the first release counts. */
function createSource(count: number, failAt = Number.POSITIVE_INFINITY) {
  const state = { alive: 0, aliveMax: 0, released: 0, returned: false };
  async function* chunks(): AsyncGenerator<ArrowChunk> {
    try {
      for (let index = 0; index < count; index += 1) {
        await new Promise(setImmediate);
        if (index === failAt) throw new Error('the source broke');
        state.alive += 1;
        state.aliveMax = Math.max(state.aliveMax, state.alive);
        let isReleased = false;
        const release = (): void => {
          if (isReleased) return;
          isReleased = true;
          state.alive -= 1;
          state.released += 1;
        };
        yield { file: Buffer.from([index]), rows: index + 1, batches: 1, nullColumns: new Set<string>(), release };
      }
    } finally {
      state.returned = true;
    }
  }
  const stream: CheckedStream = { schema: { fields: [], metadata: new Map() }, chunks: chunks() };
  return { state, stream };
}

test('writes every chunk in order and returns the sum of their rows', async () => {
  const { state, stream } = createSource(5);
  const written: number[] = [];
  const rows = await writeChunks(await pullChunks(stream, 0), async ({ file }) => void written.push(file[0] ?? -1));
  assert.equal(rows, 15);
  assert.deepEqual(written, [0, 1, 2, 3, 4]);
  assert.deepEqual(state, { alive: 0, aliveMax: state.aliveMax, released: 5, returned: true });
});

for (const ahead of [0, 1, 2]) {
  test(`has at most two chunks out at once when ${ahead} were pulled ahead`, async () => {
    const { state, stream } = createSource(6);
    const source = await pullChunks(stream, ahead);
    await writeChunks(source, async () => new Promise((resolve) => setTimeout(resolve, 3)));
    releaseChunks(source);
    assert.equal(state.aliveMax, 2);
    assert.equal(state.alive, 0);
  });
}

test('pulls the next chunk while one is written', async () => {
  const { state, stream } = createSource(2);
  let aliveDuringWrite = 0;
  await writeChunks(await pullChunks(stream, 0), async () => {
    await new Promise((resolve) => setTimeout(resolve, 20));
    aliveDuringWrite = Math.max(aliveDuringWrite, state.alive);
  });
  assert.equal(aliveDuringWrite, 2);
});

test('releases every chunk when a write fails, and reads no more', async () => {
  const { state, stream } = createSource(10);
  const writing = writeChunks(await pullChunks(stream, 0), async ({ file }) => {
    if (file[0] === 2) throw new Error('no room');
  });
  await assert.rejects(writing, /no room/);
  await new Promise((resolve) => setTimeout(resolve, 20));
  assert.equal(state.alive, 0);
  assert.ok(state.released < 10 && state.returned);
});

test('fails at once when a write fails while the next chunk is late', async () => {
  const source = { pulled: [], rest: yieldOnce() };
  await assert.rejects(
    writeChunks(source, async () => Promise.reject(new Error('no room'))),
    /no room/,
  );
});

test('lets a write end before it reports that the source failed', async () => {
  const { state, stream } = createSource(5, 2);
  let isWriting = false;
  const writing = writeChunks(await pullChunks(stream, 0), async () => {
    isWriting = true;
    await new Promise((resolve) => setTimeout(resolve, 20));
    isWriting = false;
  });
  await assert.rejects(writing, /the source broke/);
  assert.equal(isWriting, false);
  assert.equal(state.alive, 0);
});

test('releases what was read ahead when the source fails', async () => {
  const { state, stream } = createSource(5, 1);
  await assert.rejects(pullChunks(stream, 2), /the source broke/);
  assert.equal(state.alive, 0);
});

/** The second chunk never comes. */
async function* yieldOnce(): AsyncGenerator<ArrowChunk> {
  yield { file: Buffer.alloc(1), rows: 1, batches: 1, nullColumns: new Set<string>(), release: () => {} };
  await new Promise(() => {});
}
