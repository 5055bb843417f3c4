import assert from 'node:assert/strict';
import test from 'node:test';
import { BufferPool } from '../../../src/arrow/stream/buffer-pool.ts';

const CHUNK_BYTES = 1024 ** 2;

test('a full buffer is reused after it was returned', () => {
  const pool = new BufferPool({ chunkBytes: CHUNK_BYTES, keptChunksMax: 2 });
  const buffer = pool.take(CHUNK_BYTES);
  pool.give(buffer);
  assert.equal(pool.take(CHUNK_BYTES / 2 + 1), buffer);
  assert.notEqual(pool.take(CHUNK_BYTES), buffer);
});

test('no more buffers are kept than allowed, and none of another size', () => {
  const pool = new BufferPool({ chunkBytes: CHUNK_BYTES, keptChunksMax: 1 });
  const [first, second, larger] = [pool.take(CHUNK_BYTES), pool.take(CHUNK_BYTES), pool.take(CHUNK_BYTES + 1)];
  pool.give(larger);
  pool.give(first);
  pool.give(second);
  assert.equal(pool.take(CHUNK_BYTES), first);
  const another = pool.take(CHUNK_BYTES);
  assert.ok(another !== second && another !== larger);
});

test('memory that is not kept is freed at once', () => {
  const pool = new BufferPool({ chunkBytes: CHUNK_BYTES, keptChunksMax: 1 });
  const [kept, freed] = [pool.take(CHUNK_BYTES), pool.take(CHUNK_BYTES)];
  const before = process.memoryUsage().arrayBuffers;
  pool.give(kept);
  pool.give(freed);
  assert.ok(process.memoryUsage().arrayBuffers <= before - CHUNK_BYTES);
});

test('little is taken where little is needed', () => {
  const pool = new BufferPool({ chunkBytes: CHUNK_BYTES, keptChunksMax: 1 });
  assert.equal(pool.take(100).length, 16 * 1024);
  assert.equal(pool.take(20_000).length, 20_000);
});
