import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { openArrowStream } from '../../../src/arrow/stream/checked-stream.ts';
import type { Table } from '../../support/arrow-fixtures.ts';
import {
  ARROW_LIMITS,
  batchMessage,
  decimalType,
  dictionaryEncoding,
  dictionaryMessage,
  field,
  fixedSizeBinaryType,
  fixedSizeListType,
  int32s,
  integerType,
  schemaMessage,
  streamOf,
  stringBuffers,
  TYPES,
  whole,
} from '../../support/arrow-fixtures.ts';
import { loadStream } from '../support/load-stream.ts';
import { NativeEngine } from '../support/native-engine.ts';
import { plainRows } from '../support/plain-rows.ts';
import type { Refusal } from '../support/refusal.ts';
import { assertRefused } from '../support/refusal.ts';

const item = field('item', TYPES.int32);
const structOf = (...children: readonly Table[]): Table => field('s', TYPES.struct, { children });
const listOf = (child: Table): Table => field('l', TYPES.list, { children: [child] });
const vectorOf = (child: Table): Table => field('v', fixedSizeListType(2), { children: [child] });
const mapOf = (key: Table, value: Table): Table =>
  field('m', TYPES.map, { children: [field('entries', TYPES.struct, { children: [key, value], nullable: false })] });
const zoned = (zone: string): Table => field('t', [10, [{ i16: 2 }, { text: zone }]]);
const withMetadata = (metadata: Readonly<Record<string, string>>): Table => field('c', TYPES.utf8, { metadata });

describe('column names', () => {
  const cases: readonly (readonly [string, readonly Table[], RegExp])[] = [
    ['a schema without columns', [], /no columns/],
    ['an empty name', [field('', TYPES.int32)], /name "" is empty/],
    ['a missing name', [field(undefined, TYPES.int32)], /name "" is empty/],
    ['a dot', [field('a.b', TYPES.int32)], /"a\.b" contains a dot/],
    ['a backtick', [field('a`b', TYPES.int32)], /"a`b" contains a backtick/],
    ['two columns of one name', [field('a', TYPES.int32), field('a', TYPES.utf8)], /more than one column named "a"/],
    ['two fields of one name', [structOf(field('x', TYPES.int32), field('x', TYPES.int32))], /column named "s\.x"/],
    [
      'a nameless field',
      [listOf(structOf(field('', TYPES.int32)))],
      /The struct "l\.s" has a field with an empty name/,
    ],
  ];
  for (const [what, fields, says] of cases) {
    test(`are refused for ${what}`, async () => {
      await assertRefused(streamOf(schemaMessage(fields)), { kind: 'TableSchemaValidationError', says });
    });
  }

  const reserved = [
    '_rowid',
    '_rowaddr',
    '_rowoffset',
    '_distance',
    '_score',
    '_relevance_score',
    '_row_created_at_version',
    '_row_last_updated_at_version',
  ];
  for (const name of reserved) {
    test(`are refused when reserved: ${name}`, async () => {
      const says = new RegExp(`"${name}" is reserved`);
      await assertRefused(streamOf(schemaMessage([field(name, TYPES.int32)])), {
        kind: 'TableSchemaValidationError',
        says,
      });
    });
  }

  test('may be reserved below the top, differ by case only, or hold odd characters', async () => {
    const fields = [structOf(field('_rowid', TYPES.int32), field('a.b', TYPES.int32)), field('S', TYPES.int32)];
    const odd = [' ', '"', "'", 'é', '😀', 'a\nb'].map((name) => field(name, TYPES.int32));
    const { schema } = await openArrowStream(whole(streamOf(schemaMessage([...fields, ...odd]))), ARROW_LIMITS);
    assert.equal(schema.fields.length, 8);
  });
});

const sortedMap = field('m', [17, [{ u8: 1 }]], {
  children: [
    field('entries', TYPES.struct, {
      children: [field('key', TYPES.utf8), field('value', TYPES.int32)],
      nullable: false,
    }),
  ],
});

describe('column types', () => {
  const refused: readonly (readonly [string, Table, RegExp])[] = [
    ['a zone by offset', zoned('+05:30'), /"t" has the type timestamp\[us, \+05:30\].*name of a time zone/],
    ['binary of no bytes', field('b', fixedSizeBinaryType(0)), /"b" has the type binary\[0\].*at least one byte/],
    ['lists of no items', field('v', fixedSizeListType(0), { children: [item] }), /"v".*at least one item/],
    ['fixed-size lists of text', vectorOf(field('item', TYPES.utf8)), /"v" has the type utf8\[2\].*send a list/],
    ['fixed-size lists of nulls', vectorOf(field('item', TYPES.null)), /"v" has the type null\[2\]/],
    ['fixed-size lists of lists', vectorOf(listOf(item)), /"v" has the type list<int32>\[2\]/],
    ['fixed-size lists of structs', vectorOf(structOf(item)), /"v" has the type struct.*send a list instead/],
    ['fixed-size lists of structs, nested', vectorOf(vectorOf(structOf(item))), /"v\.v" has the type struct.*a list/],
    ['empty structs', structOf(), /"s" has the type struct.*at least one field/],
    ['lists of empty structs', listOf(structOf()), /"l\.s".*at least one field/],
    ['maps with sorted keys', sortedMap, /"m" has the type map.*without the keysSorted flag/],
    ['maps with keys that may be null', mapOf(field('key', TYPES.utf8), item), /"m".*keys of the map as not null/],
    [
      'maps to empty structs',
      mapOf(field('key', TYPES.utf8, { nullable: false }), structOf()),
      /"m\..*at least one field/,
    ],
    ['nested ones', structOf(listOf(field('d', decimalType(5, 2, 32)))), /"s\.l\.d" has the type decimal32/],
    [
      'dictionaries of dates',
      field('d', [8, [{ i16: 0 }]], { dictionary: dictionaryEncoding(1) }),
      /"d" has the type dictionary<date32>.*send other values plain/,
    ],
    [
      'dictionaries of structs',
      field('d', TYPES.struct, { dictionary: dictionaryEncoding(1), children: [item] }),
      /"d" has the type dictionary<struct>/,
    ],
  ];
  for (const [what, column, says] of refused) {
    test(`are refused when the storage cannot hold them: ${what}`, async () => {
      await assertRefused(streamOf(schemaMessage([column])), { kind: 'TableSchemaValidationError', says });
    });
  }

  test('are refused in combination: dictionaries of numbers beside a map', async () => {
    const numbers = field('d', TYPES.int64, { dictionary: dictionaryEncoding(1) });
    const map = mapOf(field('key', TYPES.utf8, { nullable: false }), field('value', TYPES.int32));
    const says = /"d" has the type dictionary<int64>.*with maps.*send them plain/;
    await assertRefused(streamOf(schemaMessage([numbers, map])), { kind: 'TableSchemaValidationError', says });
  });

  const malformed: readonly (readonly [string, Table, RegExp])[] = [
    ['an unknown type', field('x', [99, []]), /unknown Arrow type 99/],
    ['an integer of 12 bits', field('x', integerType(12)), /integer column of 12 bits/],
    ['a decimal of 39 digits', field('x', decimalType(39, 2, 128)), /precision 39/],
    ['a decimal of no digits', field('x', decimalType(0, 0, 128)), /precision 0/],
    ['a scale beyond the precision', field('x', decimalType(10, 20, 128)), /scale 20/],
    ['a decimal of 100 bits', field('x', decimalType(10, 2, 100)), /100 bits/],
    ['binary of negative bytes', field('x', fixedSizeBinaryType(-1)), /-1 bytes/],
    ['a list of negative items', field('x', fixedSizeListType(-1), { children: [item] }), /-1 items/],
    ['a float of unknown precision', field('x', [3, [{ i16: 9 }]]), /precision 9\..*half, single or double/],
    ['a date of unknown unit', field('x', [8, [{ i16: 9 }]]), /unit 9\..*days or milliseconds/],
    ['a time of the wrong width', field('x', [9, [{ i16: 3 }, { i32: 32 }]]), /32 bits in ns/],
    [
      'a timestamp of unknown unit',
      field('x', [10, [{ i16: 7 }]]),
      /time unit 7\..*seconds, milliseconds, microseconds or nanoseconds/,
    ],
    [
      'an interval of unknown unit',
      field('x', [11, [{ i16: 7 }]]),
      /interval column of the unknown unit 7\..*year-month, day-time or month-day-nano/,
    ],
    ['a list without children', field('x', TYPES.list), /0 children/],
    ['a list of two', field('x', TYPES.list, { children: [item, item] }), /2 children/],
    ['an integer with children', field('x', TYPES.int32, { children: [item] }), /plain type with children/],
    ['a map of integers', field('x', TYPES.map, { children: [item] }), /not a struct of key and value/],
    ['a dictionary without index type', field('x', TYPES.utf8, { dictionary: [{ i64: 1 }] }), /no index type.*"x"/],
    ['a type without its table', [{ text: 'x' }, { u8: 1 }, { u8: 2 }], /no type for the column "x"/],
    ['text that is not UTF-8', [{ bytes: Buffer.from([0xff]) }, { u8: 1 }, { u8: 2 }, { table: [] }], /valid UTF-8/],
  ];
  for (const [what, column, says] of malformed) {
    test(`are refused when malformed: ${what}`, async () => {
      await assertRefused(streamOf(schemaMessage([column])), { says });
    });
  }

  test('may share a dictionary only when they agree on its values', async () => {
    const fields = [
      field('a', TYPES.utf8, { dictionary: dictionaryEncoding(7) }),
      field('b', TYPES.int64, { dictionary: dictionaryEncoding(7) }),
    ];
    await assertRefused(streamOf(schemaMessage(fields)), { says: /dictionary 7 for the columns "a" and "b"/ });
  });
});

describe('field metadata', () => {
  const cases: readonly (readonly [string, Readonly<Record<string, string>>, RegExp])[] = [
    ['keys of the storage format', { 'lance-encoding:blob': 'true' }, /"c".*"lance-encoding:blob".*storage format/],
    ['keys of the storage format, other form', { 'lance:x': '1' }, /"lance:x"/],
    ['the key packed', { packed: 'true' }, /"packed"/],
    ['primary keys', { 'lance-schema:unenforced-primary-key': 'true' }, /unenforced-primary-key/],
    ['extension types of the storage format', { 'ARROW:extension:name': 'lance.blob.v2' }, /"lance\.blob\.v2"/],
    ['extension types without a name', { 'ARROW:extension:name': '' }, /extension type without a name/],
    ['extension metadata alone', { 'ARROW:extension:metadata': 'x' }, /needs "ARROW:extension:name"/],
    [
      'unknown extension keys',
      { 'ARROW:extension:name': 'a.b', 'ARROW:extension:other': 'x' },
      /"ARROW:extension:other".*not part of/,
    ],
  ];
  for (const [what, metadata, says] of cases) {
    test(`is refused for ${what}`, async () => {
      await assertRefused(streamOf(schemaMessage([withMetadata(metadata)])), {
        kind: 'TableSchemaValidationError',
        says,
      });
    });
  }

  test('is refused below the top too', async () => {
    const stream = streamOf(schemaMessage([listOf(structOf(withMetadata({ packed: '1' })))]));
    await assertRefused(stream, { kind: 'TableSchemaValidationError', says: /"l\.s\.c".*"packed"/ });
  });

  test('is read, for fields and for the schema', async () => {
    const metadata = { unit: 'kg', 'ARROW:extension:name': 'my.type', 'ARROW:extension:metadata': '' };
    const stream = streamOf(schemaMessage([withMetadata(metadata)], { metadata: { owner: 'é' } }));
    const { schema } = await openArrowStream(whole(stream), ARROW_LIMITS);
    assert.deepEqual(schema.fields[0]?.metadata, new Map(Object.entries(metadata)));
    assert.deepEqual(schema.metadata, new Map([['owner', 'é']]));
  });
});

describe('the size of a schema', () => {
  const cases: readonly (readonly [string, readonly Table[], Refusal])[] = [
    [
      'columns',
      Array.from({ length: 9 }, (_, index) => field(`c${index}`, TYPES.int32)),
      { says: /more than 8 columns/ },
    ],
    [
      'columns, including nested ones',
      [structOf(...Array.from({ length: 8 }, (_, index) => field(`c${index}`, TYPES.int32)))],
      { says: /more than 8 columns/ },
    ],
    ['levels', [structOf(structOf(structOf(item)))], { says: /more than 3 levels deep/ }],
  ];
  for (const [what, fields, { says }] of cases) {
    test(`is bounded in ${what}`, async () => {
      await assertRefused(streamOf(schemaMessage(fields)), { says, limits: { columnsMax: 8, depthMax: 3 } });
    });
  }

  test('is bounded when a few bytes declare many columns by sharing their children', async () => {
    let column = field(undefined, TYPES.int32);
    for (let level = 0; level < 30; level += 1) column = field(undefined, TYPES.struct, { children: [column, column] });
    const stream = streamOf(schemaMessage([column]));
    assert.ok(stream.length < 8192);
    await assertRefused(stream, { says: /more than 4,000 columns/ });
  });

  test('is bounded when a few bytes declare much text by sharing it', async () => {
    const entry: Table = [{ text: 'key' }, { text: 'x'.repeat(1000) }];
    const column: Table = [
      { text: 'c' },
      { u8: 1 },
      { u8: 6 },
      { table: [] },
      undefined,
      undefined,
      { tables: Array.from({ length: 100 }, () => entry) },
    ];
    await assertRefused(streamOf(schemaMessage([column])), { says: /same text too many times/ });
  });
});

/** The reasons for some of the rules, so that an upgrade of the engine shows when one can go. */
describe('what the engine accepts and what it can read', () => {
  let engine: NativeEngine;
  before(async () => {
    engine = await NativeEngine.open();
  });
  after(async () => {
    await engine.close();
  });

  test('holds columns that share one dictionary', async () => {
    const columns = ['a', 'b'].map((name) => field(name, TYPES.utf8, { dictionary: dictionaryEncoding(3) }));
    const values = dictionaryMessage(3, { rows: 2, nodes: [[2, 0]], buffers: stringBuffers(['x', 'y']) });
    const none = Buffer.alloc(0);
    const batch = batchMessage({
      rows: 2,
      nodes: [
        [2, 0],
        [2, 0],
      ],
      buffers: [none, int32s([0, 1]), none, int32s([1, 0])],
    });
    const { table } = await loadStream(engine, whole(streamOf(schemaMessage(columns), values, batch)));
    assert.deepEqual(await plainRows(table), [
      { a: 'x', b: 'y' },
      { a: 'y', b: 'x' },
    ]);
  });

  test('holds list items without a name', async () => {
    const stream = streamOf(
      schemaMessage([listOf(field('', TYPES.int32))]),
      batchMessage({
        rows: 1,
        nodes: [
          [1, 0],
          [2, 0],
        ],
        buffers: [Buffer.alloc(0), int32s([0, 2]), Buffer.alloc(0), int32s([7, 8])],
      }),
    );
    const { table } = await loadStream(engine, whole(stream));
    assert.deepEqual(await plainRows(table), [{ l: [7, 8] }]);
  });
});
