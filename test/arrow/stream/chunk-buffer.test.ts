import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { tableFromIPC } from 'apache-arrow';
import fc from 'fast-check';
import { openArrowStream } from '../../../src/arrow/stream/checked-stream.ts';
import type { ArrowChunk } from '../../../src/arrow/stream/checked-stream.ts';
import { ARROW_LIMITS, int32Stream, inPieces, range, seededRandom, whole } from '../../support/arrow-fixtures.ts';
import { collectChunks } from '../support/load-stream.ts';

/** The values of the one column, as the Arrow project's reader finds them. */
function idsOf(file: Uint8Array): readonly unknown[] {
  return [...(tableFromIPC(file).getChild('id') ?? [])];
}

async function openChunks(bytes: Buffer, chunkBytes: number): Promise<AsyncIterator<ArrowChunk>> {
  const { chunks } = await openArrowStream(whole(bytes), { ...ARROW_LIMITS, chunkBytes, chunksMax: 1000 });
  return chunks[Symbol.asyncIterator]();
}

async function next(chunks: AsyncIterator<ArrowChunk>): Promise<ArrowChunk> {
  const { done, value } = await chunks.next();
  assert.notEqual(done, true);
  return value;
}

describe('a chunk', () => {
  test('is a complete file, and all of them hold the stream in order, however it arrives', async () => {
    const sizes = fc.array(fc.integer({ min: 0, max: 3000 }), { maxLength: 12 });
    const property = fc.asyncProperty(
      sizes,
      fc.integer({ min: 64, max: 20_000 }),
      fc.nat(),
      async (batches, chunkBytes, seed) => {
        const random = seededRandom(seed);
        const pieces = inPieces(int32Stream(...batches), () => random(4000));
        const limits = { ...ARROW_LIMITS, chunkBytes };
        const { chunks } = await openArrowStream(pieces, limits);
        const ids: unknown[] = [];
        const counts = { rows: 0, batches: 0, chunks: 0 };
        for await (const chunk of chunks) {
          const found = idsOf(chunk.file);
          assert.equal(found.length, chunk.rows);
          assert.ok(chunk.file.length <= chunkBytes || chunk.batches <= 1);
          ids.push(...found);
          counts.rows += chunk.rows;
          counts.batches += chunk.batches;
          counts.chunks += 1;
          chunk.file.fill(0xee);
          chunk.release();
        }
        assert.deepEqual(
          ids,
          batches.flatMap((rows) => range(rows)),
        );
        assert.equal(counts.batches, batches.length);
        assert.ok(counts.chunks >= 1);
      },
    );
    await fc.assert(property, { numRuns: 60 });
  });

  test('of a small stream takes little memory', async () => {
    const chunks = await openChunks(int32Stream(10), 64 * 1024 * 1024);
    const { file } = await next(chunks);
    assert.ok(file.buffer.byteLength <= 32 * 1024);
  });

  test('grows beyond the usual size for one large message', async () => {
    const [chunk] = await collectChunks(int32Stream(100_000), { ...ARROW_LIMITS, chunkBytes: 1000 });
    assert.equal(chunk?.rows, 100_000);
    assert.equal(idsOf(chunk?.file ?? Buffer.alloc(0)).length, 100_000);
  });

  test('stays as it is while later ones are read, until it is released', async () => {
    const chunks = await openChunks(int32Stream(...range(12).map(() => 1500)), 8192);
    const first = await next(chunks);
    const copy = Buffer.from(first.file);
    const held = [await next(chunks), await next(chunks), await next(chunks)];
    assert.ok(first.file.equals(copy));
    for (const chunk of held) assert.notEqual(chunk.file.buffer, first.file.buffer);
  });

  test('gives its memory to a later one, once', async () => {
    const chunks = await openChunks(int32Stream(...range(12).map(() => 1500)), 8192);
    await next(chunks);
    const second = await next(chunks);
    second.release();
    second.release();
    const third = await next(chunks);
    const fourth = await next(chunks);
    assert.equal(third.file.buffer, second.file.buffer);
    assert.notEqual(fourth.file.buffer, third.file.buffer);
  });
});
