import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { BatchSpec, Table } from '../../support/arrow-fixtures.ts';
import {
  batchMessage,
  dictionaryEncoding,
  dictionaryMessage,
  field,
  fixedSizeListType,
  int32s,
  schemaMessage,
  streamOf,
  stringBuffers,
  TYPES,
  whole,
} from '../../support/arrow-fixtures.ts';
import { zeroBlock, lz4Frame } from '../support/lz4-writer.ts';
import { assertRefused, drain } from '../support/refusal.ts';

const NONE = Buffer.alloc(0);
const MIB = 1024 * 1024;

const stream = (column: Table, batch: BatchSpec): Buffer => streamOf(schemaMessage([column]), batchMessage(batch));
const declaring = (bytes: number, content: Uint8Array): Buffer => {
  const length = Buffer.alloc(8);
  length.writeBigInt64LE(BigInt(bytes));
  return Buffer.concat([length, content]);
};

/** Views of one text of `bytes`, all of them the whole of it. */
const viewsOf = (rows: number, bytes: number): Buffer => {
  const views = Buffer.alloc(16 * rows);
  for (let row = 0; row < rows; row += 1) views.writeInt32LE(bytes, 16 * row);
  return views;
};

describe('a small stream that decodes to much data is refused', () => {
  test('by rows of a null column', async () => {
    const rows = 1_000_000_000;
    const bomb = stream(field('n', TYPES.null), { rows, nodes: [[rows, rows]], buffers: [] });
    assert.ok(bomb.length < 400);
    await assertRefused(bomb, {
      says: /Record batch 1.*decoded bytes per received byte/,
      limits: { rowsPerBatchMax: 2 ** 40 },
    });
    await assertRefused(bomb, { says: /1000000000 rows.*at most 10,000,000/ });
  });

  test('by null rows inside of lists', async () => {
    const column = field('l', TYPES.list, { children: [field('item', TYPES.null)] });
    const items = 2_000_000_000;
    const bomb = stream(column, {
      rows: 1,
      nodes: [
        [1, 0],
        [items, items],
      ],
      buffers: [NONE, int32s([0, items])],
    });
    await assertRefused(bomb, { says: /limit of 1 GiB of decoded data/ });
  });

  test('by lengths that ZSTD declares', async () => {
    const rows = 8_000_000;
    const buffers = [NONE, declaring(4 * rows, Buffer.alloc(64))];
    const bomb = stream(field('a', TYPES.int32), { rows, nodes: [[rows, 0]], buffers, codec: 1 });
    await assertRefused(bomb, { says: /limit of 100 decoded bytes per received byte/ });
  });

  test('by a length that no machine has', async () => {
    const buffers = [NONE, declaring(2 ** 52, Buffer.alloc(64))];
    const bomb = stream(field('a', TYPES.int32), { rows: 1, nodes: [[1, 0]], buffers, codec: 1 });
    await assertRefused(bomb, { says: /of decoded data per stream/ });
  });

  test('by an LZ4 frame that is longer than it declares', async () => {
    const frame = lz4Frame(
      Array.from({ length: 64 }, () => zeroBlock(4 * MIB)),
      7,
    );
    const buffers = [NONE, declaring(8, frame)];
    const bomb = stream(field('a', TYPES.int32), { rows: 2, nodes: [[2, 0]], buffers, codec: 0 });
    await assertRefused(bomb, { says: /LZ4 frame that may decode to 268435456 bytes but declares 8/ });
  });

  test('by the same bytes in many columns', async () => {
    const body = Buffer.alloc(MIB);
    const columns = Array.from({ length: 200 }, (_, index) => field(`c${index}`, TYPES.int32));
    const bomb = streamOf(
      schemaMessage(columns),
      batchMessage({
        rows: MIB / 4,
        nodes: columns.map(() => [MIB / 4, 0] as const),
        buffers: columns.flatMap(() => [[0, 0] as const, [0, MIB] as const]),
        body,
      }),
    );
    await assertRefused(bomb, { says: /limit of 100 decoded bytes/ });
  });

  test('by views of one text, many times over', async () => {
    const buffers = [NONE, viewsOf(10_000, MIB), Buffer.alloc(MIB, 'x')];
    const bomb = stream(field('v', TYPES.utf8View), { rows: 10_000, nodes: [[10_000, 0]], buffers, variadic: [1] });
    await assertRefused(bomb, { says: /of decoded data per stream/ });
  });

  test('by views of one text, in LZ4', async () => {
    const rows = 4096;
    const views = lz4Frame([viewsOf(rows, MIB)], 4);
    const buffers = [NONE, declaring(16 * rows, views), declaring(-1, Buffer.alloc(MIB, 'x'))];
    const bomb = stream(field('v', TYPES.utf8View), { rows, nodes: [[rows, 0]], buffers, variadic: [1], codec: 0 });
    await assertRefused(bomb, { says: /of decoded data per stream/ });
  });

  test('by views in ZSTD that may be of one text', async () => {
    const rows = 4096;
    const buffers = [NONE, declaring(16 * rows, Buffer.alloc(1024)), declaring(-1, Buffer.alloc(MIB, 'x'))];
    const bomb = stream(field('v', TYPES.utf8View), { rows, nodes: [[rows, 0]], buffers, variadic: [1], codec: 1 });
    await assertRefused(bomb, { says: /of decoded data per stream/ });
  });

  test('by deltas that make the engine copy a large dictionary each time', async () => {
    const column = field('d', TYPES.utf8, { dictionary: dictionaryEncoding(1) });
    const large = dictionaryMessage(1, { rows: 1, nodes: [[1, 0]], buffers: stringBuffers(['x'.repeat(8 * MIB)]) });
    const delta = dictionaryMessage(1, { rows: 0, nodes: [[0, 0]], buffers: [NONE, NONE, NONE] }, true);
    const bomb = streamOf(schemaMessage([column]), large, ...Array.from({ length: 200 }, () => delta));
    await assertRefused(bomb, { says: /dictionary 1, at byte .*decoded bytes/ });
  });

  test('by chunks that bring a large dictionary again and again', async () => {
    const large = field('a', TYPES.utf8, { dictionary: dictionaryEncoding(1) });
    const small = field('b', TYPES.utf8, { dictionary: dictionaryEncoding(2) });
    const first = dictionaryMessage(1, { rows: 1, nodes: [[1, 0]], buffers: stringBuffers(['x'.repeat(8 * MIB)]) });
    const turns = Array.from({ length: 200 }, () => [
      dictionaryMessage(2, { rows: 1, nodes: [[1, 0]], buffers: stringBuffers(['y']) }),
      batchMessage({
        rows: 1,
        nodes: [
          [1, 0],
          [1, 0],
        ],
        buffers: [NONE, int32s([0]), NONE, int32s([0])],
      }),
    ]);
    const bomb = streamOf(schemaMessage([large, small]), first, ...turns.flat());
    await assertRefused(bomb, { says: /Record batch \d+.*decoded bytes/, limits: { chunksMax: 1000 } });
  });
});

describe('honest streams are not taken for bombs', () => {
  test('when they compress well but stay small', async () => {
    const rows = 2_000_000;
    const buffers = [NONE, declaring(4 * rows, Buffer.alloc(64))];
    const batch = { rows, nodes: [[rows, 0]], buffers, codec: 1 } as const;
    assert.equal(await drain(whole(stream(field('a', TYPES.int32), batch))), rows);
  });

  test('when their views are of different texts', async () => {
    const rows = 1000;
    const buffers = [NONE, viewsOf(rows, 1000), Buffer.alloc(rows * 1000, 'x')];
    const batch = { rows, nodes: [[rows, 0]], buffers, variadic: [1] } as const;
    assert.equal(await drain(whole(stream(field('v', TYPES.utf8View), batch))), rows);
  });

  test('when vectors fill their batch', async () => {
    const column = field('v', fixedSizeListType(256), { children: [field('item', TYPES.float32)] });
    const rows = 20_000;
    const batch = {
      rows,
      nodes: [
        [rows, 0],
        [rows * 256, 0],
      ],
      buffers: [NONE, NONE, Buffer.alloc(rows * 1024)],
    } as const;
    assert.equal(await drain(whole(stream(column, batch))), rows);
  });
});
