import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import {
  Binary,
  Dictionary,
  Field,
  FixedSizeList,
  Float32,
  Int32,
  List,
  Struct,
  Table,
  Utf8,
  tableToIPC,
  vectorFromArray,
} from 'apache-arrow';
import type { DataType } from 'apache-arrow';
import { jsonDocument, jsonLines } from '../../../src/arrow/results/json-pieces.ts';
import { structWriter, writeRows } from '../../../src/arrow/results/json-rows.ts';
import { fixtureStream, whole } from '../../support/arrow-fixtures.ts';
import { loadStream } from '../support/load-stream.ts';
import { NativeEngine } from '../support/native-engine.ts';

const PIECE_BYTES_MAX = 1024 * 1024;
const EACH = 'ä"\\\n\u2028😀\u0001';
const LONG_TEXT = EACH.repeat(150_000);

const items = (type: DataType): Field => new Field('item', type, true);
const numbers = (count: number): readonly number[] => Array.from({ length: count }, (_, at) => Math.sin(at));

/** As the engine hands batches over. */
function toFile(type: DataType, values: readonly unknown[]): Buffer {
  const columns = { id: vectorFromArray(values.map((_, row) => row)), value: vectorFromArray([...values], type) };
  return Buffer.concat([Buffer.from('ARROW1\0\0'), tableToIPC(new Table(columns), 'stream')]);
}

const LONG_VALUES: readonly (readonly [name: string, type: DataType, value: unknown])[] = [
  ['a list of numbers', new List(items(new Float32())), [...numbers(200_000), null]],
  ['a vector', new FixedSizeList(200_000, items(new Float32())), numbers(200_000)],
  ['a list of vectors', new List(items(new FixedSizeList(500, items(new Float32())))), Array(400).fill(numbers(500))],
  ['a list of one long list', new List(items(new List(items(new Float32())))), [[], numbers(200_000), null, [1]]],
  ['a list of long texts', new List(items(new Utf8())), ['short', LONG_TEXT, null, '', LONG_TEXT]],
  ['a text', new Utf8(), LONG_TEXT],
  ['a binary value', new Binary(), Buffer.alloc(2_000_001, EACH)],
  ['a text of a dictionary', new Dictionary(new Utf8(), new Int32(), 1), LONG_TEXT],
  [
    'a list of structs',
    new List(items(new Struct([items(new Int32()), new Field('text', new Utf8(), true)]))),
    Array(30_000).fill({ item: 1, text: EACH }),
  ],
];

suite('long values as JSON', () => {
  for (const [name, type, value] of LONG_VALUES) {
    test(`${name} is written in pieces that make the same text as in one go`, () => {
      const rows = type instanceof FixedSizeList ? [value, value] : [null, value, null, value];
      assertPieces(toFile(type, rows));
    });
  }

  test('characters that lie across the end of a piece are written whole', () => {
    for (let shift = 0; shift < 4; shift += 1) {
      assertPieces(toFile(new Utf8(), ['x'.repeat(shift) + '😀'.repeat(100_000)]));
    }
  });

  let engine: NativeEngine;
  before(async () => {
    engine = await NativeEngine.open();
  });
  after(async () => engine.close());

  test('texts and bytes that the engine returns as views are written in pieces', async () => {
    const { table } = await loadStream(engine, whole(fixtureStream('int64')));
    const query = table.query();
    query.select([
      ['x', 'x'],
      ['text', "arrow_cast(repeat('äöü', 400000), 'Utf8View')"],
      ['none', "arrow_cast(NULL, 'Utf8View')"],
      ['bytes', "arrow_cast(arrow_cast(repeat('äöü', 400000), 'Binary'), 'BinaryView')"],
    ]);
    const batches = await query.execute();
    assertPieces((await batches.next()) ?? Buffer.alloc(0));
  });
});

function assertPieces(file: Buffer): void {
  const rows = [...writeRows(file, structWriter)];
  const lines = [...jsonLines().add(file)];
  const document = jsonDocument();
  const pieces = [...document.add(file), ...document.end()];
  for (const { length } of [...lines, ...pieces]) assert.ok(length <= PIECE_BYTES_MAX, `a piece of ${length} bytes`);
  assert.ok(Buffer.concat(lines).toString() === rows.map((row) => `${row}\n`).join(''));
  assert.ok(Buffer.concat(pieces).toString() === `{"rows":[${rows.join(',')}]}`);
}
