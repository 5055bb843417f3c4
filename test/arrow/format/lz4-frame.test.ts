import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { BatchBuffers, DecodedBudget } from '../../../src/arrow/stream/batch-buffers.ts';
import { readBatchHeader, readMessageHeader } from '../../../src/arrow/format/message-header.ts';
import { decodeLz4Frame, lz4DecodedBytesMax } from '../../../src/arrow/format/lz4-frame.ts';
import { MessageContext } from '../../../src/arrow/format/flatbuffer.ts';
import { ARROW_LIMITS, fixtureStream } from '../../support/arrow-fixtures.ts';
import { lz4Frame } from '../support/lz4-writer.ts';
import { metadataRanges } from '../support/mutate.ts';

/** Bytes with repetitions, near and far, so that matches of all kinds appear. */
const repetitive = fc
  .array(fc.tuple(fc.uint8Array({ minLength: 1, maxLength: 20 }), fc.integer({ min: 1, max: 60 })), { maxLength: 20 })
  .map((runs) => Buffer.concat(runs.flatMap(([bytes, times]) => Array<Uint8Array>(times).fill(bytes))));

function blocksOf(bytes: Buffer, size: number): readonly Buffer[] {
  const blocks: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += size) blocks.push(bytes.subarray(at, at + size));
  return blocks;
}

/** What is in the buffers of the first record batch of a stream without dictionaries. */
function firstBatchBuffers(stream: Buffer): readonly { isCompressed: boolean; content: Buffer | undefined }[] {
  const [start = 0, end = 0] = metadataRanges(stream)[1] ?? [];
  const message = readMessageHeader(stream.subarray(start + 8, end), new MessageContext('Message 2', start));
  const header = readBatchHeader(message, message.table, 1000);
  const buffers = new BatchBuffers(
    header,
    stream.subarray(end, end + header.bodyBytes),
    new DecodedBudget(ARROW_LIMITS),
  );
  return Array.from({ length: header.buffers.count }, () => {
    const buffer = buffers.nextBuffer();
    return { isCompressed: buffer.isCompressed, content: buffers.content(buffer, buffer.decodedBytes) };
  });
}

describe('an LZ4 frame', () => {
  test('decodes to what was compressed', () => {
    fc.assert(
      fc.property(repetitive, fc.integer({ min: 64, max: 5000 }), (bytes, blockBytes) => {
        const frame = lz4Frame(blocksOf(bytes, blockBytes), 4);
        const target = Buffer.alloc(bytes.length, 0xee);
        assert.equal(decodeLz4Frame(frame, target), true);
        assert.ok(target.equals(bytes));
      }),
    );
  });

  test('decodes to what pyarrow compressed', () => {
    const compressed = firstBatchBuffers(fixtureStream('lz4'));
    const plain = firstBatchBuffers(fixtureStream('plain'));
    assert.ok(compressed.some(({ isCompressed }) => isCompressed));
    assert.deepEqual(
      compressed.map(({ content }) => content),
      plain.map(({ content }) => content),
    );
  });

  test('decodes only as much as is asked for', () => {
    const bytes = Buffer.from('abcdefgh'.repeat(1000));
    const target = Buffer.alloc(100);
    assert.equal(decodeLz4Frame(lz4Frame([bytes], 4), target), true);
    assert.equal(target.toString(), bytes.toString('utf8', 0, 100));
  });

  test('is refused when it is shorter than asked for', () => {
    assert.equal(decodeLz4Frame(lz4Frame([Buffer.from('abc')], 4), Buffer.alloc(4)), false);
  });

  test('never decodes to more than its bound', () => {
    fc.assert(
      fc.property(repetitive, (bytes) => {
        const bound = lz4DecodedBytesMax(lz4Frame(blocksOf(bytes, 65536), 4));
        assert.ok(bound !== undefined && bound >= bytes.length);
      }),
    );
  });

  test('is bounded by the number and size of its blocks', () => {
    const frame = lz4Frame([Buffer.alloc(65536), Buffer.alloc(65536), Buffer.alloc(10)], 4);
    assert.ok((lz4DecodedBytesMax(frame) ?? 0) <= 3 * 65536);
  });

  test('takes blocks that are stored as they are', () => {
    const head = lz4Frame([], 4).subarray(0, 7);
    const size = Buffer.alloc(4);
    size.writeUInt32LE(0x80000000 + 3);
    const frame = Buffer.concat([head, size, Buffer.from('xyz'), Buffer.alloc(4)]);
    const target = Buffer.alloc(3);
    assert.equal(decodeLz4Frame(frame, target), true);
    assert.equal(target.toString(), 'xyz');
  });

  test('is not one with another magic, a reserved block size, no end, or something behind it', () => {
    const frame = lz4Frame([Buffer.from('hello world')], 4);
    const magic = Buffer.from(frame);
    magic[0] = 5;
    const reserved = lz4Frame([Buffer.from('hello world')], 3);
    const cut = frame.subarray(0, -4);
    const followed = Buffer.concat([frame, frame, frame, frame]);
    for (const bad of [magic, reserved, cut, followed, Buffer.alloc(0)]) {
      assert.equal(lz4DecodedBytesMax(bad), undefined);
      assert.equal(decodeLz4Frame(bad, Buffer.alloc(4)), false);
    }
  });

  test('never throws, whatever its bytes', () => {
    const frame = lz4Frame([Buffer.from('abcabcabcabcabcabcabcabcabcabc hello')], 4);
    const faults = fc.array(fc.tuple(fc.nat(frame.length - 1), fc.nat(255)), { maxLength: 6 });
    fc.assert(
      fc.property(faults, fc.nat(200), (changes, length) => {
        const mutant = Buffer.from(frame);
        for (const [at, byte] of changes) mutant[at] = byte;
        const target = Buffer.alloc(length);
        assert.equal(typeof decodeLz4Frame(mutant, target), 'boolean');
        assert.ok((lz4DecodedBytesMax(mutant) ?? 0) >= 0);
      }),
    );
  });
});
