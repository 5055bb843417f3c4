import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { readFileSchema } from '../../../src/arrow/schema/schema-reader.ts';
import { describeType, formatArrowCast } from '../../../src/arrow/schema/type-name.ts';
import type { DataType, Field } from '../../../src/model/schema.ts';
import { batchMessage, field, int32s, schemaMessage, streamOf, TYPES, whole } from '../../support/arrow-fixtures.ts';
import { loadStream } from '../support/load-stream.ts';
import type { NativeTable } from '../support/native-engine.ts';
import { NativeEngine } from '../support/native-engine.ts';

const named = (type: DataType, name = 'item', nullable = true): Field => ({
  name,
  nullable,
  type,
  metadata: new Map(),
});

const INT: DataType = { kind: 'int', bits: 64, signed: true };
const FLOAT: DataType = { kind: 'float', bits: 32 };
const TEXT: DataType = { kind: 'utf8', layout: 'plain' };
const MAP: DataType = {
  kind: 'map',
  keysSorted: false,
  entries: named({ kind: 'struct', children: [named(TEXT, 'key', false), named(INT, 'value')] }, 'entries', false),
};

/** Each with its text; the value that is cast does not matter, as long as the engine plans the cast. */
const CASTS: readonly (readonly [DataType, string])[] = [
  [{ kind: 'bool' }, 'Boolean'],
  [{ kind: 'int', bits: 8, signed: true }, 'Int8'],
  [{ kind: 'int', bits: 64, signed: false }, 'UInt64'],
  [{ kind: 'float', bits: 16 }, 'Float16'],
  [{ kind: 'float', bits: 64 }, 'Float64'],
  [{ kind: 'decimal', bits: 128, precision: 20, scale: 2 }, 'Decimal128(20, 2)'],
  [{ kind: 'decimal', bits: 256, precision: 50, scale: -3 }, 'Decimal256(50, -3)'],
  [TEXT, 'Utf8'],
  [{ kind: 'utf8', layout: 'large' }, 'LargeUtf8'],
  [{ kind: 'utf8', layout: 'view' }, 'Utf8View'],
  [{ kind: 'binary', layout: 'plain' }, 'Binary'],
  [{ kind: 'binary', layout: 'large' }, 'LargeBinary'],
  [{ kind: 'binary', layout: 'view' }, 'BinaryView'],
  [{ kind: 'fixed-size-binary', bytes: 16 }, 'FixedSizeBinary(16)'],
  [{ kind: 'date', unit: 'day' }, 'Date32'],
  [{ kind: 'date', unit: 'ms' }, 'Date64'],
  [{ kind: 'time', bits: 32, unit: 'ms' }, 'Time32(Millisecond)'],
  [{ kind: 'time', bits: 64, unit: 'ns' }, 'Time64(Nanosecond)'],
  [{ kind: 'timestamp', unit: 'us', timezone: undefined }, 'Timestamp(Microsecond, None)'],
  [{ kind: 'timestamp', unit: 's', timezone: 'America/New_York' }, 'Timestamp(Second, Some("America/New_York"))'],
  [{ kind: 'duration', unit: 'ns' }, 'Duration(Nanosecond)'],
  [{ kind: 'list', layout: 'plain', item: named(INT) }, 'List(Int64)'],
  [{ kind: 'list', layout: 'large', item: named(INT, 'it em', false) }, "LargeList(non-null Int64, field: 'it em')"],
  [{ kind: 'fixed-size-list', length: 3, item: named(FLOAT) }, 'FixedSizeList(3, Float32)'],
  [{ kind: 'fixed-size-list', length: 3, item: named(FLOAT, 'x') }, "FixedSizeList(3 x Float32, field: 'x')"],
  [{ kind: 'fixed-size-list', length: 3, item: named(FLOAT, 'item', false) }, 'FixedSizeList(3 x non-null Float32)'],
  [
    { kind: 'struct', children: [named(INT, 'a b'), named(TEXT, 'é,:', false)] },
    'Struct("a b": Int64, "é,:": non-null Utf8)',
  ],
  [MAP, 'Map("entries": non-null Struct("key": non-null Utf8, "value": Int64), unsorted)'],
  [
    { kind: 'dictionary', index: { kind: 'int', bits: 8, signed: true }, value: TEXT, ordered: false },
    'Dictionary(Int8, Utf8)',
  ],
];

describe('the text of a type for arrow_cast', () => {
  let engine: NativeEngine;
  let table: NativeTable;
  before(async () => {
    engine = await NativeEngine.open();
    const batch = batchMessage({ rows: 1, nodes: [[1, 0]], buffers: [Buffer.alloc(0), int32s([1])] });
    ({ table } = await loadStream(engine, whole(streamOf(schemaMessage([field('id', TYPES.int32)]), batch))));
  });
  after(async () => {
    await engine.close();
  });

  /** What the engine makes of the text: a null of that type beside a column, as its output schema has it. */
  async function typeOf(text: string): Promise<DataType | undefined> {
    const query = table.query();
    const quoted = `'${text.replaceAll("'", "''")}'`;
    query.select([
      ['id', 'id'],
      ['x', `arrow_cast(NULL, ${quoted})`],
    ]);
    return readFileSchema(await query.outputSchema()).fields[1]?.type;
  }

  for (const [type, text] of CASTS) {
    test(`is ${text}, and the engine reads it as the same type`, async () => {
      assert.equal(formatArrowCast(type), text);
      assert.deepEqual(await typeOf(text), type);
    });
  }

  test('does not exist for names that the grammar cannot quote', () => {
    for (const name of ['', 'a"b', "a'b", 'a\\b']) {
      assert.equal(formatArrowCast({ kind: 'struct', children: [named(INT, name)] }), undefined);
      assert.equal(formatArrowCast({ kind: 'list', layout: 'plain', item: named(INT, name) }), undefined);
    }
    assert.equal(formatArrowCast({ kind: 'timestamp', unit: 's', timezone: 'a"b' }), undefined);
  });

  test('does not exist for types that tables cannot hold, at any depth', () => {
    const union: DataType = { kind: 'union', children: [] };
    assert.equal(formatArrowCast(union), undefined);
    assert.equal(formatArrowCast({ kind: 'list', layout: 'plain', item: named(union) }), undefined);
    assert.equal(formatArrowCast({ kind: 'interval', unit: 'day-time' }), undefined);
  });
});

describe('the name of a type for people', () => {
  const names: readonly (readonly [DataType, string])[] = [
    [{ kind: 'fixed-size-list', length: 16, item: named(FLOAT) }, 'float32[16]'],
    [{ kind: 'list', layout: 'large', item: named(TEXT) }, 'large list<utf8>'],
    [{ kind: 'struct', children: [] }, 'struct'],
    [{ kind: 'timestamp', unit: 'us', timezone: 'UTC' }, 'timestamp[us, UTC]'],
    [{ kind: 'timestamp', unit: 'us', timezone: '\u202e<b>' }, 'timestamp[us, "\\u{202e}<b>"]'],
    [{ kind: 'timestamp', unit: 'ms', timezone: undefined }, 'timestamp[ms]'],
    [{ kind: 'binary', layout: 'view' }, 'binary view'],
    [{ kind: 'int', bits: 8, signed: false }, 'uint8'],
    [{ kind: 'dictionary', index: INT, value: TEXT, ordered: false }, 'dictionary<utf8>'],
    [{ kind: 'decimal', bits: 128, precision: 20, scale: 2 }, 'decimal128(20, 2)'],
    [{ kind: 'null' }, 'null'],
  ];
  for (const [type, name] of names) {
    test(`is ${name}`, () => {
      assert.equal(describeType(type), name);
    });
  }
});
