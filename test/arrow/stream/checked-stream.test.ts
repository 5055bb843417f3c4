import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { openArrowStream, pullFirst } from '../../../src/arrow/stream/checked-stream.ts';
import { readFileSchema } from '../../../src/arrow/schema/schema-reader.ts';
import { ServiceError } from '../../../src/errors/service-error.ts';
import type { Schema } from '../../../src/model/schema.ts';
import type { ExpectedTable } from '../../support/arrow-fixtures.ts';
import {
  ARROW_LIMITS,
  batchMessage,
  END_OF_STREAM,
  expectedTables,
  field,
  fixtureStream,
  inPieces,
  int32Batch,
  int32s,
  int32Stream,
  message,
  frame,
  schemaMessage,
  seededRandom,
  streamOf,
  TYPES,
  whole,
} from '../../support/arrow-fixtures.ts';
import { loadStream } from '../support/load-stream.ts';
import { NativeEngine } from '../support/native-engine.ts';
import { fromExpected, plainRows } from '../support/plain-rows.ts';
import type { PlainRow } from '../support/plain-rows.ts';
import { pyarrowName } from '../support/pyarrow-name.ts';
import { assertRefused, drain } from '../support/refusal.ts';
import type { Refusal } from '../support/refusal.ts';

const REFUSED_FIXTURES: Readonly<Record<string, RegExp>> = {
  decimal32: /"d" has the type decimal32\(5, 2\).*decimal128/,
  decimal64: /"d" has the type decimal64\(12, 2\).*decimal128/,
  dense_union: /"x" has the type union.*struct/,
  fsl_struct: /"x" has the type struct\[2\].*list/,
  interval_mdn: /"t" has the type interval\[month-day-nano\].*duration/,
  list_view: /"x" has the type list view<int32>.*list/,
  ree: /"x" has the type run-end-encoded.*plain/,
  struct_empty: /"x" has the type struct.*at least one field/,
};

/** What the Arrow project's JavaScript cannot read back, and JSON, which comes back in the engine's binary form. */
const NOT_READ_BACK: ReadonlySet<string> = new Set(['large_list', 'json_ext', 'map']);

function pyarrowNames(schema: Schema): Readonly<Record<string, string>> {
  return Object.fromEntries(schema.fields.map((column) => [column.name, pyarrowName(column)]));
}

function assertFirstRows(rows: readonly PlainRow[], { types, first_rows: first, rows: count }: ExpectedTable): void {
  assert.equal(rows.length, count);
  if (first === null || types === null) return;
  const wanted = first.map((row) =>
    Object.fromEntries(Object.entries(row).map(([name, value]) => [name, fromExpected(value, types[name] ?? '')])),
  );
  assert.deepEqual(rows.slice(0, first.length), wanted);
}

describe('streams that pyarrow wrote', () => {
  let engine: NativeEngine;
  before(async () => {
    engine = await NativeEngine.open();
  });
  after(async () => {
    await engine.close();
  });

  for (const [name, expected] of Object.entries(expectedTables())) {
    if (name in REFUSED_FIXTURES) continue;
    test(`loads ${name} from pieces of any size, with its rows and types`, async () => {
      const random = seededRandom(name.length);
      const stream = fixtureStream(name);
      const pieces = inPieces(stream, () => random(stream.length > 10_000 ? 5000 : 97));
      const { schema, table, rows } = await loadStream(engine, pieces);
      assert.equal(rows, expected.rows);
      assert.equal(await table.countRows(), expected.rows);
      assert.equal(schema.fields.length, expected.columns);
      if (expected.types !== null) assert.deepEqual(pyarrowNames(schema), expected.types);
      assert.deepEqual(
        readFileSchema(await table.schema()).fields.map((column) => column.name),
        schema.fields.map((column) => column.name),
      );
      if (!NOT_READ_BACK.has(name)) assertFirstRows(await plainRows(table), expected);
    });
  }

  for (const [name, says] of Object.entries(REFUSED_FIXTURES)) {
    test(`refuses ${name}, naming the column and what would work`, async () => {
      await assertRefused(fixtureStream(name), { kind: 'TableSchemaValidationError', says });
    });
  }

  for (const name of ['multi', 'dict', 'dict_delta', 'dict_replace', 'lz4_nested', 'sliced']) {
    test(`loads the same table from ${name} in one chunk and in many`, async () => {
      const stream = fixtureStream(name);
      const one = await loadStream(engine, whole(stream));
      const many = await loadStream(engine, whole(stream), { ...ARROW_LIMITS, chunkBytes: 64 });
      assert.ok(many.chunks >= one.chunks);
      assert.deepEqual(await plainRows(many.table), await plainRows(one.table));
    });
  }
});

const SCHEMA = schemaMessage([field('id', TYPES.int32)]);

async function* broken(): AsyncGenerator<Uint8Array> {
  yield SCHEMA;
  throw new Error('the connection is gone');
}

describe('the frame of a stream', () => {
  test('accepts a stream without batches as one chunk without rows', async () => {
    const { schema, chunks } = await openArrowStream(whole(streamOf(SCHEMA)), ARROW_LIMITS);
    const all = [];
    for await (const chunk of chunks) all.push([chunk.rows, chunk.batches]);
    assert.deepEqual(all, [[0, 0]]);
    assert.equal(schema.fields[0]?.name, 'id');
  });

  test('accepts the end marker of four bytes that older writers use', async () => {
    assert.equal(await drain(whole(Buffer.concat([SCHEMA, int32Batch([1, 2]), Buffer.alloc(4)]))), 2);
  });

  test('refuses an empty body for its missing schema', async () => {
    await assertRefused(Buffer.alloc(0), { says: /no schema.*stream/ });
  });

  test('refuses a stream that ends before its schema', async () => {
    await assertRefused(END_OF_STREAM, { says: /ends before its schema/ });
  });

  test('refuses an Arrow file with a hint to send the stream', async () => {
    await assertRefused(Buffer.from('ARROW1\0\0rest of a file', 'latin1'), { says: /Arrow IPC file.*new_stream/ });
  });

  test('refuses what is not Arrow at all with the same hint', async () => {
    await assertRefused(Buffer.from('{"id": 1, "s": "x"}'), { says: /Message 1, at byte 0 .*metadata.*new_stream/ });
  });

  test('refuses a stream without its end marker', async () => {
    await assertRefused(Buffer.concat([SCHEMA, int32Batch([1])]), {
      says: /ends at byte \d+ without an end-of-stream marker/,
    });
  });

  test('refuses bytes behind the end marker', async () => {
    const stream = int32Stream(3);
    await assertRefused(Buffer.concat([stream, Buffer.alloc(1)]), {
      says: new RegExp(`ends at byte ${stream.length}, but more bytes follow`),
    });
  });

  test('refuses a stream that starts with a batch', async () => {
    await assertRefused(streamOf(int32Batch([1])), { says: /Message 1, at byte 0 .*is not a schema/ });
  });

  test('refuses a second schema', async () => {
    await assertRefused(streamOf(SCHEMA, SCHEMA), { says: /Message 2, at byte \d+ .*second schema/ });
  });

  test('refuses messages of other kinds by their names', async () => {
    const kinds = [
      /Message 2.* is empty/,
      /Message 2.* is a tensor/,
      /Message 2.* is a sparse tensor/,
      /unknown kind 6/,
    ];
    for (const [index, says] of kinds.entries()) {
      const kind = index === 0 ? 0 : index + 3;
      await assertRefused(streamOf(SCHEMA, frame(message(kind, [], 0))), { says });
    }
  });

  test('refuses a metadata version that changes on the way', async () => {
    const batch = batchMessage({ rows: 1, nodes: [[1, 0]], buffers: [Buffer.alloc(0), int32s([1])], version: 3 });
    await assertRefused(streamOf(SCHEMA, batch), { says: /Message 2.*different metadata version/ });
  });

  test('refuses metadata versions before V4', async () => {
    await assertRefused(streamOf(schemaMessage([field('id', TYPES.int32)], { version: 2 })), {
      says: /version V3.*V4 or V5/,
    });
  });

  test('refuses big-endian data', async () => {
    await assertRefused(streamOf(schemaMessage([field('id', TYPES.int32)], { endianness: 1 })), { says: /big-endian/ });
  });

  test('refuses a schema that has a body', async () => {
    await assertRefused(streamOf(schemaMessage([field('id', TYPES.int32)], { bodyLength: 8 }), Buffer.alloc(8)), {
      says: /The schema.*body of 8 bytes/,
    });
  });

  test('refuses metadata that is not padded to eight bytes', async () => {
    const odd = Buffer.from(SCHEMA.subarray(0, -4));
    odd.writeUInt32LE(odd.length - 8, 4);
    await assertRefused(streamOf(odd), { says: /[Pp]ad \w+ to a multiple of 8/ });
  });

  test('refuses a body that is not padded to eight bytes', async () => {
    await assertRefused(streamOf(SCHEMA, frame(message(3, [], 12)), Buffer.alloc(12)), {
      says: /body of 12 bytes.*multiple of 8/,
    });
  });

  for (const name of ['int32', 'dict_delta', 'legacy', 'lz4']) {
    test(`refuses ${name} cut off at any byte`, async () => {
      const stream = fixtureStream(name);
      const step = stream.length > 1000 ? 7 : 1;
      for (let length = 0; length < stream.length; length += step) {
        await assert.rejects(drain(whole(stream.subarray(0, length))), ServiceError, `accepted ${length} bytes`);
      }
    });
  }

  test('passes on what the source throws', async () => {
    const { chunks } = await openArrowStream(broken(), ARROW_LIMITS);
    await assert.rejects(chunks[Symbol.asyncIterator]().next(), /the connection is gone/);
  });
});

describe('a stream whose first chunk is pulled', () => {
  test('has been checked to its end where that is all of it', async () => {
    const good = await pullFirst(await openArrowStream(whole(int32Stream(100)), ARROW_LIMITS));
    const rows: number[] = [];
    for await (const chunk of good.chunks) rows.push(chunk.rows);
    assert.deepEqual(rows, [100]);
    const bad = await openArrowStream(whole(int32Stream(100).subarray(0, -20)), ARROW_LIMITS);
    await assert.rejects(pullFirst(bad), ServiceError);
  });

  test('gives its chunks in order, and closes its source when the reader stops early', async () => {
    const source = watched(int32Stream(100, 200, 300));
    const opened = await openArrowStream(source, { ...ARROW_LIMITS, chunkBytes: 64 });
    const rows: number[] = [];
    for await (const chunk of (await pullFirst(opened)).chunks) {
      rows.push(chunk.rows);
      if (rows.length === 2) break;
    }
    assert.deepEqual(rows, [100, 200]);
    assert.equal(source.isClosed(), true);
  });
});

describe('the source of a stream', () => {
  test('is closed when the schema is refused', async () => {
    const source = watched(streamOf(schemaMessage([])));
    await assert.rejects(openArrowStream(source, ARROW_LIMITS), ServiceError);
    assert.equal(source.isClosed(), true);
  });

  test('is closed when a batch is refused', async () => {
    const source = watched(Buffer.concat([SCHEMA, int32Batch([1]), SCHEMA, END_OF_STREAM]));
    await assert.rejects(drain(source), ServiceError);
    assert.equal(source.isClosed(), true);
  });

  test('is closed when the reader stops early', async () => {
    const source = watched(int32Stream(100, 100, 100));
    const { chunks } = await openArrowStream(source, { ...ARROW_LIMITS, chunkBytes: 64 });
    for await (const chunk of chunks) {
      chunk.release();
      break;
    }
    assert.equal(source.isClosed(), true);
  });
});

function watched(bytes: Buffer): AsyncIterable<Uint8Array> & { isClosed: () => boolean } {
  let isClosed = false;
  async function* pieces(): AsyncGenerator<Uint8Array> {
    try {
      yield* inPieces(bytes, () => 64);
    } finally {
      isClosed = true;
    }
  }
  return Object.assign(pieces(), { isClosed: () => isClosed });
}

describe('the bounds of a stream', () => {
  const cases: readonly (readonly [string, Buffer, Refusal])[] = [
    [
      'bytes in all',
      int32Stream(100),
      { kind: 'PayloadTooLarge', says: /larger than 256 bytes/, limits: { streamBytesMax: 256 } },
    ],
    [
      'bytes of metadata',
      int32Stream(1),
      { says: /Message 1.*metadata; at most 64/, limits: { metadataBytesMax: 64 } },
    ],
    [
      'bytes of a message',
      int32Stream(1, 1000),
      { says: /Message 3.*bytes long; at most 1,000 bytes/, limits: { messageBytesMax: 1000 } },
    ],
    [
      'rows of a batch',
      int32Stream(5, 11),
      { says: /Record batch 2, at byte \d+ .*11 rows.*at most 10/, limits: { rowsPerBatchMax: 10 } },
    ],
    ['chunks', int32Stream(50, 50, 50), { says: /more than 2 chunks\./, limits: { chunkBytes: 64, chunksMax: 2 } }],
  ];
  for (const [what, stream, refusal] of cases) {
    test(`holds for ${what}`, async () => {
      await assertRefused(stream, refusal);
    });
  }

  test('takes no memory for a message that is only announced', async () => {
    const announced = frame(
      message(3, [{ i64: 1 }, { structs: Buffer.alloc(0), size: 16 }, { structs: Buffer.alloc(0), size: 16 }], 1 << 30),
    );
    const takenBefore = process.memoryUsage().arrayBuffers;
    await assertRefused(Buffer.concat([SCHEMA, announced, Buffer.alloc(64)]), {
      says: /truncated/,
      limits: { messageBytesMax: 2 ** 31 },
    });
    assert.ok(process.memoryUsage().arrayBuffers - takenBefore < 8 * 1024 * 1024);
  });
});
