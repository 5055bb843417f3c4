import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { BatchSpec, Table, TypeSpec } from '../../support/arrow-fixtures.ts';
import {
  batchMessage,
  dictionaryEncoding,
  field,
  fixedSizeBinaryType,
  fixedSizeListType,
  int32Batch,
  int32s,
  schemaMessage,
  streamOf,
  stringBuffers,
  TYPES,
  whole,
} from '../../support/arrow-fixtures.ts';
import { lz4Frame } from '../support/lz4-writer.ts';
import { assertRefused, drain, refusalOf } from '../support/refusal.ts';

const NONE = Buffer.alloc(0);
const FOUR = int32s([1, 2, 3, 4]);

const int32 = field('a', TYPES.int32);
const typed = (type: TypeSpec, children: readonly Table[] = []): Table => field('a', type, { children });
const stream = (column: Table, batch: BatchSpec): Buffer => streamOf(schemaMessage([column]), batchMessage(batch));
const four = (change: Partial<BatchSpec>): BatchSpec => ({
  rows: 4,
  nodes: [[4, 0]],
  buffers: [NONE, FOUR],
  ...change,
});

const compressed = (declared: bigint, content: Uint8Array): Buffer => {
  const length = Buffer.alloc(8);
  length.writeBigInt64LE(declared);
  return Buffer.concat([length, content]);
};

interface Case {
  readonly what: string;
  readonly column: Table;
  readonly batch: BatchSpec;
  readonly says: RegExp;
}

const CASES: readonly Case[] = [
  { what: 'negative rows', column: int32, batch: four({ rows: -1 }), says: /declares -1 rows/ },
  { what: 'numbers beyond 2^53', column: int32, batch: four({ rows: 2n ** 60n }), says: /out of range/ },
  {
    what: 'another length than its rows',
    column: int32,
    batch: four({ nodes: [[3, 0]] }),
    says: /"a", which has 3 rows instead of the declared 4/,
  },
  { what: 'a negative length', column: int32, batch: four({ nodes: [[-4, 0]] }), says: /column of -4 rows/ },
  { what: 'more nulls than rows', column: int32, batch: four({ nodes: [[4, 5]] }), says: /4 rows with 5 nulls/ },
  { what: 'negative nulls', column: int32, batch: four({ nodes: [[4, -1]] }), says: /with -1 nulls/ },
  {
    what: 'nulls without validity',
    column: int32,
    batch: four({ nodes: [[4, 1]] }),
    says: /0 bytes of validity, but its rows need 1/,
  },
  {
    what: 'nulls in a required column',
    column: field('a', TYPES.int32, { nullable: false }),
    batch: four({ nodes: [[4, 2]], buffers: [Buffer.from([3]), FOUR] }),
    says: /has 2 nulls although the schema allows none/,
  },
  { what: 'rows in a column of nulls', column: typed(TYPES.null), batch: four({ buffers: [] }), says: /null type/ },
  {
    what: 'too few values',
    column: int32,
    batch: four({ buffers: [NONE, FOUR.subarray(0, 12)] }),
    says: /"a".*12 bytes of values, but its rows need 16/,
  },
  {
    what: 'a broken value',
    column: int32,
    batch: four({ buffers: [NONE, Buffer.alloc(18)] }),
    says: /18 bytes of values, which is not a multiple of 4/,
  },
  {
    what: 'too few bits',
    column: typed(TYPES.bool),
    batch: four({ rows: 9, nodes: [[9, 0]], buffers: [NONE, Buffer.alloc(1)] }),
    says: /1 bytes of values, but its rows need 2/,
  },
  {
    what: 'too few fixed-size bytes',
    column: typed(fixedSizeBinaryType(5)),
    batch: four({}),
    says: /16 bytes of values, but its rows need 20/,
  },
  {
    what: 'too few offsets',
    column: typed(TYPES.utf8),
    batch: four({ buffers: [NONE, FOUR, NONE] }),
    says: /16 bytes of offsets, but its rows need 20/,
  },
  {
    what: 'a broken offset',
    column: typed(TYPES.utf8),
    batch: four({ buffers: [NONE, Buffer.alloc(22), NONE] }),
    says: /22 bytes of offsets, which is not/,
  },
  {
    what: 'too few large offsets',
    column: typed([20, []]),
    batch: four({ buffers: [NONE, Buffer.alloc(32), NONE] }),
    says: /32 bytes of offsets, but its rows need 40/,
  },
  {
    what: 'too few views',
    column: typed(TYPES.utf8View),
    batch: four({ buffers: [NONE, Buffer.alloc(48)], variadic: [0] }),
    says: /48 bytes of views, but its rows need 64/,
  },
  {
    what: 'a broken view',
    column: typed(TYPES.utf8View),
    batch: four({ buffers: [NONE, Buffer.alloc(72)], variadic: [0] }),
    says: /72 bytes of views, which is not/,
  },
  {
    what: 'no count of view buffers',
    column: typed(TYPES.utf8View),
    batch: four({ buffers: [NONE, Buffer.alloc(64)] }),
    says: /no buffer count for a view column/,
  },
  {
    what: 'a wild count of view buffers',
    column: typed(TYPES.utf8View),
    batch: four({ buffers: [NONE, Buffer.alloc(64)], variadic: [9] }),
    says: /has 9 buffers for a view column/,
  },
  {
    what: 'stray counts of view buffers',
    column: int32,
    batch: four({ variadic: [0] }),
    says: /more view columns than the schema/,
  },
  {
    what: 'items that do not fill a fixed-size list',
    column: typed(fixedSizeListType(2), [field('item', TYPES.int32)]),
    batch: four({
      nodes: [
        [4, 0],
        [7, 0],
      ],
      buffers: [NONE, NONE, Buffer.alloc(32)],
    }),
    says: /"a\.item", which has 7 rows instead of the declared 8/,
  },
  {
    what: 'a struct whose field is shorter',
    column: typed(TYPES.struct, [field('x', TYPES.int32)]),
    batch: four({
      nodes: [
        [4, 0],
        [2, 0],
      ],
      buffers: [NONE, NONE, FOUR],
    }),
    says: /"a\.x", which has 2 rows instead of the declared 4/,
  },
  {
    what: 'a missing field node',
    column: typed(TYPES.struct, [field('x', TYPES.int32)]),
    batch: four({ buffers: [NONE, NONE, FOUR] }),
    says: /fewer columns than the schema/,
  },
  {
    what: 'a stray field node',
    column: int32,
    batch: four({
      nodes: [
        [4, 0],
        [4, 0],
      ],
    }),
    says: /more columns than the schema/,
  },
  {
    what: 'a missing buffer',
    column: int32,
    batch: four({ buffers: [NONE] }),
    says: /fewer buffers than its columns need/,
  },
  {
    what: 'a stray buffer',
    column: int32,
    batch: four({ buffers: [NONE, FOUR, NONE] }),
    says: /more buffers than its columns need/,
  },
  {
    what: 'a buffer beyond the body',
    column: int32,
    batch: four({ buffers: [NONE, [8, 16]], body: Buffer.alloc(16) }),
    says: /buffer of 16 bytes at 8 in a body of 16/,
  },
  {
    what: 'a buffer before the body',
    column: int32,
    batch: four({ buffers: [NONE, [-8, 16]], body: Buffer.alloc(16) }),
    says: /at -8/,
  },
  {
    what: 'a buffer of negative length',
    column: int32,
    batch: four({ buffers: [NONE, [0, -16]], body: Buffer.alloc(16) }),
    says: /buffer of -16 bytes/,
  },
  {
    what: 'an unaligned buffer',
    column: int32,
    batch: four({ buffers: [NONE, [4, 16]], body: Buffer.alloc(24) }),
    says: /buffer at 4.*multiples of 8/,
  },
  { what: 'an unknown codec', column: int32, batch: four({ codec: 2 }), says: /unknown compression 2/ },
  {
    what: 'an unknown method of compression',
    column: int32,
    batch: four({ codec: 0, method: 1 }),
    says: /unknown compression method/,
  },
  {
    what: 'a compressed buffer without length',
    column: int32,
    batch: four({ codec: 1, buffers: [NONE, Buffer.alloc(4)] }),
    says: /without its length/,
  },
  {
    what: 'a compressed buffer of negative length',
    column: int32,
    batch: four({ codec: 1, buffers: [NONE, compressed(-2n, FOUR)] }),
    says: /compressed buffer of -2 bytes/,
  },
  {
    what: 'a compressed buffer that is too short',
    column: int32,
    batch: four({ codec: 1, buffers: [NONE, compressed(12n, FOUR)] }),
    says: /12 bytes of values, but its rows need 16/,
  },
  {
    what: 'LZ4 that is not a frame',
    column: int32,
    batch: four({ codec: 0, buffers: [NONE, compressed(16n, FOUR)] }),
    says: /not an LZ4 frame/,
  },
  {
    what: 'a dictionary that was not sent',
    column: field('a', TYPES.utf8, { dictionary: dictionaryEncoding(1) }),
    batch: four({}),
    says: /"a", which uses a dictionary that has not been sent/,
  },
];

describe('a record batch', () => {
  for (const { what, column, batch, says } of CASES) {
    test(`is refused for ${what}`, async () => {
      await assertRefused(stream(column, batch), { says });
    });
  }

  test('is named by its number and its position in the stream', async () => {
    const schema = schemaMessage([int32]);
    const first = int32Batch([1, 2]);
    const { message } = await refusalOf(streamOf(schema, first, batchMessage(four({ nodes: [[3, 0]] }))));
    assert.ok(
      message.startsWith(`Record batch 2, at byte ${schema.length + first.length} of the Arrow stream, `),
      message,
    );
  });

  test('may have longer buffers than it needs', async () => {
    const batch = four({ buffers: [Buffer.alloc(64), Buffer.alloc(64)] });
    assert.equal(await drain(whole(stream(int32, batch))), 4);
  });

  test('may leave out offsets when it has no rows', async () => {
    const batch = { rows: 0, nodes: [[0, 0]], buffers: [NONE, NONE, NONE] } as const;
    assert.equal(await drain(whole(stream(typed(TYPES.utf8), batch))), 0);
  });

  test('may say of a buffer that it is not compressed after all', async () => {
    const batch = four({ codec: 0, buffers: [NONE, compressed(-1n, FOUR)] });
    assert.equal(await drain(whole(stream(int32, batch))), 4);
  });
});

const json = (type: TypeSpec = TYPES.utf8): Table =>
  field('j', type, { metadata: { 'ARROW:extension:name': 'arrow.json' } });
const texts = (...values: readonly string[]): BatchSpec => ({
  rows: values.length,
  nodes: [[values.length, 0]],
  buffers: stringBuffers(values),
});
const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);

const pack = (bytes: Buffer): Buffer => compressed(BigInt(bytes.length), lz4Frame([bytes], 4));
const inLz4 = (text: string): BatchSpec => {
  const [validity = NONE, offsets = NONE, data = NONE] = stringBuffers([text]);
  return { rows: 1, nodes: [[1, 0]], buffers: [validity, pack(offsets), pack(data)], codec: 0 };
};

describe('JSON columns', () => {
  test('are accepted with texts of ordinary depth', async () => {
    assert.equal(await drain(whole(stream(json(), texts('{"a":[1,2]}', '', nested(100))))), 3);
  });

  test('are refused with a text that would exhaust the engine', async () => {
    await assertRefused(stream(json(), texts('1', nested(129))), {
      says: /"j", which in row 1 contains JSON that is nested more than 128 levels/,
    });
  });

  test('are refused below other columns too', async () => {
    const column = field('l', TYPES.list, { children: [json()] });
    const { buffers } = texts(nested(5000));
    const batch = {
      rows: 1,
      nodes: [
        [1, 0],
        [1, 0],
      ],
      buffers: [NONE, int32s([0, 1]), ...buffers],
    } as const;
    await assertRefused(stream(column, batch), { says: /"l\.j".*levels/ });
  });

  test('are refused with offsets that run backwards', async () => {
    const batch = { rows: 2, nodes: [[2, 0]], buffers: [NONE, int32s([0, 3, 1]), Buffer.from('[1]')] } as const;
    await assertRefused(stream(json(), batch), { says: /"j".*row 1.*do not increase/ });
  });

  test('are refused as views and in ZSTD, where they cannot be looked into', async () => {
    await assertRefused(streamOf(schemaMessage([json(TYPES.utf8View)])), {
      kind: 'TableSchemaValidationError',
      says: /"j".*string views/,
    });
    const batch = { ...texts('[1]'), codec: 1, buffers: [NONE, compressed(8n, FOUR), compressed(3n, FOUR)] };
    await assertRefused(stream(json(), batch), { says: /"j".*ZSTD.*LZ4/ });
  });

  test('are looked into in LZ4', async () => {
    assert.equal(await drain(whole(stream(json(), inLz4(nested(100))))), 1);
    await assertRefused(stream(json(), inLz4(nested(5000))), {
      says: /"j".*row 0 contains JSON that is nested more than 128 levels/,
    });
  });
});
