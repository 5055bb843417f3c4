import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import {
  Bool,
  Dictionary,
  Field,
  Int32,
  Int8,
  Schema,
  Table,
  Utf8,
  tableFromIPC,
  tableToIPC,
  vectorFromArray,
} from 'apache-arrow';
import fc from 'fast-check';
import { ServiceError } from '../../../src/errors/service-error.ts';
import { jsonDocument, jsonLines } from '../../../src/arrow/results/json-pieces.ts';
import { hideFirstColumn, hideLastColumn } from '../../../src/arrow/results/result-file.ts';
import { arrowFile, arrowStream, frame, frameWhole } from '../../../src/arrow/results/result-framing.ts';
import type { ResultFiles } from '../../../src/arrow/results/result-framing.ts';
import { REFUSED_TABLES, expectedTables, fixtureStream, whole } from '../../support/arrow-fixtures.ts';
import { loadStream } from '../support/load-stream.ts';
import { NativeEngine } from '../support/native-engine.ts';
import type { NativeTable } from '../support/native-engine.ts';
import { plainRows } from '../support/plain-rows.ts';

interface Row {
  readonly id: number;
  readonly text: string | null;
  readonly word: string | null;
}

const WORDS = ['a', 'b', 'c', 'd', 'longer than the others', ''];

const rows = fc.array(
  fc.record(
    {
      id: fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
      text: fc.option(fc.string({ unit: 'grapheme', maxLength: 12 })),
      word: fc.option(fc.constantFrom(...WORDS)),
    },
    { noNullPrototype: true },
  ),
  { maxLength: 20 },
);

/** As the engine hands batches over: each a file of its own, with a dictionary of its own. */
function toFile(batch: readonly Row[]): Buffer {
  const columns = {
    id: vectorFromArray(
      batch.map(({ id }) => id),
      new Int32(),
    ),
    text: vectorFromArray(
      batch.map(({ text }) => text),
      new Utf8(),
    ),
    word: vectorFromArray(
      batch.map(({ word }) => word),
      dictionaryType(),
    ),
  };
  return asFile(new Table(SCHEMA, columns));
}

/** The Arrow project's own files lack the schema at their head, which the engine's have; the footer is not read. */
function asFile(table: Table): Buffer {
  return Buffer.concat([Buffer.from('ARROW1\0\0'), tableToIPC(table, 'stream')]);
}

const dictionaryType = () => new Dictionary(new Utf8(), new Int8(), 7);
const SCHEMA = new Schema([
  new Field('id', new Int32(), true),
  new Field('text', new Utf8(), true),
  new Field('word', dictionaryType(), true),
]);
const EMPTY = asFile(new Table(SCHEMA));

function toResult(files: readonly Buffer[]): ResultFiles {
  return { head: files[0] ?? EMPTY, files: fromArray(files) };
}

async function* fromArray(files: readonly Buffer[]): AsyncGenerator<Buffer> {
  yield* files;
}

async function collect(pieces: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const piece of pieces) parts.push(Buffer.from(piece));
  return Buffer.concat(parts);
}

function readRows(bytes: Buffer): readonly Row[] {
  return tableFromIPC(bytes)
    .toArray()
    .map((row: Row) => ({ id: row.id, text: row.text, word: row.word }));
}

suite('batches of one result', () => {
  test('become one stream, one file, one document and lines with the same rows, however many they are', async () => {
    const property = fc.asyncProperty(fc.array(rows, { maxLength: 8 }), async (batches) => {
      const wanted = batches.flat();
      // A batch without rows has no dictionary in the Arrow project's files, and the engine makes none.
      const files = () => batches.filter((batch) => batch.length > 0).map(toFile);
      assert.deepEqual(readRows(await collect(frame(arrowStream(), toResult(files())))), wanted);
      assert.deepEqual(readRows(await collect(frame(arrowFile(), toResult(files())))), wanted);
      const document: unknown = JSON.parse((await collect(frame(jsonDocument(), toResult(files())))).toString());
      assert.deepEqual(document, { rows: wanted });
      const lines = (await collect(frame(jsonLines(), toResult(files())))).toString().split('\n').slice(0, -1);
      assert.deepEqual(
        lines.map((line): unknown => JSON.parse(line)),
        wanted,
      );
    });
    await fc.assert(property, { numRuns: 60 });
  });

  test('that are all read become the same bytes at once as one by one', async () => {
    const files = () => [1, 2].map((id) => toFile([{ id, text: 'x', word: WORDS[id] ?? '' }]));
    for (const framing of [arrowStream, arrowFile, jsonDocument, jsonLines]) {
      const streamed = await collect(frame(framing(), toResult(files())));
      assert.ok(frameWhole(framing(), EMPTY, files()).equals(streamed));
    }
  });

  test('are let go when the reader stops at the schema', async () => {
    let hasStopped = false;
    const files = {
      [Symbol.asyncIterator]: () => ({
        next: async () => ({ done: false, value: toFile([{ id: 1, text: 'x', word: 'a' }]) }) as const,
        async return() {
          hasStopped = true;
          return { done: true, value: undefined } as const;
        },
      }),
    };
    const pieces = frame(arrowStream(), { head: EMPTY, files });
    await pieces.next();
    await pieces.return(undefined);
    assert.ok(hasStopped);
  });

  test('become a file whose footer gives the position of every batch', async () => {
    const batches = [0, 1, 2].map((id) => toFile([{ id, text: 'x', word: WORDS[id] ?? '' }]));
    const table = tableFromIPC(await collect(frame(arrowFile(), toResult(batches))));
    assert.equal(table.batches.length, 3);
    assert.deepEqual([...(table.getChild('word') ?? [])], ['a', 'b', 'c']);
  });

  test('without any batch become a stream and a file of the schema alone', async () => {
    for (const framing of [arrowStream, arrowFile]) {
      const table = tableFromIPC(await collect(frame(framing(), toResult([]))));
      assert.equal(table.numRows, 0);
      assert.deepEqual(table.schema.names, ['id', 'text', 'word']);
    }
  });

  test('are pulled one at a time, and no more once the reader has gone', async () => {
    let pulled = 0;
    let closed = false;
    async function* files(): AsyncGenerator<Buffer> {
      try {
        for (;;) {
          pulled += 1;
          yield toFile([{ id: pulled, text: null, word: null }]);
        }
      } finally {
        closed = true;
      }
    }
    const pieces = frame(arrowFile(), { head: EMPTY, files: files() });
    for (let piece = 0; piece < 6; piece += 1) await pieces.next();
    assert.ok(pulled <= 5, String(pulled));
    await pieces.return(undefined);
    assert.ok(closed);
  });

  test('of more different words than their indices can count become a stream, but no file', async () => {
    const files = Array.from({ length: 20 }, (_unused, file) =>
      toFile(Array.from({ length: 10 }, (_word, row) => ({ id: row, text: null, word: `${file} ${row}` }))),
    );
    assert.equal(readRows(await collect(frame(arrowStream(), toResult(files)))).length, 200);
    await assert.rejects(
      collect(frame(arrowFile(), toResult(files))),
      (error) => error instanceof ServiceError && error.kind === 'Unsupported' && error.message.includes('"word"'),
    );
  });

  test('with different dictionaries of booleans become one file', async () => {
    const type = new Dictionary(new Bool(), new Int8(), 7);
    const parts = [
      [true, null],
      [false, true, false],
      [null, true],
      [true, false],
    ];
    const files = parts.map((values) => asFile(new Table({ flag: vectorFromArray(values, type) })));
    const table = tableFromIPC(await collect(frame(arrowFile(), toResult(files))));
    assert.deepEqual([...(table.getChild('flag') ?? [])], parts.flat());
  });

  test('with more words than a call has arguments become one file', async () => {
    const type = new Dictionary(new Utf8(), new Int32(), 7);
    const files = [0, 1].map((file) => {
      const words = Array.from({ length: 150_000 }, (_unused, row) => `${file} ${row}`);
      return asFile(new Table({ word: vectorFromArray(words, type) }));
    });
    const table = tableFromIPC(await collect(frame(arrowFile(), toResult(files))));
    assert.equal(table.numRows, 300_000);
    assert.equal(table.getChild('word')?.get(299_999), '1 149999');
  });

  test('that are cut short are an error, never a shorter result', async () => {
    const file = toFile([{ id: 1, text: 'x', word: 'a' }]);
    for (const framing of [arrowStream, arrowFile, jsonDocument, jsonLines]) {
      const result = { head: file, files: fromArray([file.subarray(0, 300)]) };
      await assert.rejects(collect(frame(framing(), result)), ServiceError);
    }
  });
});

suite('a table of every type', () => {
  let engine: NativeEngine;
  before(async () => {
    engine = await NativeEngine.open();
  });
  after(async () => engine.close());

  /** What the Arrow project's JavaScript cannot read. */
  const UNREADABLE = new Set(['large_list', 'map']);
  const names = Object.keys(expectedTables()).filter((name) => !REFUSED_TABLES.has(name));

  for (const name of names) {
    test(`${name} comes out of the engine as a file and as a stream that hold the same rows`, async () => {
      const { table, rows: count } = await loadStream(engine, whole(fixtureStream(name)));
      const file = await collect(frame(arrowFile(), await query(table)));
      const stream = await collect(frame(arrowStream(), await query(table)));
      if (!UNREADABLE.has(name)) {
        for (const bytes of [file, stream]) assert.equal(tableFromIPC(bytes).numRows, count);
      }
      // The engine reads what was made of its own batches, and finds the same in it.
      const again = await engine.create(file, '2.2');
      assert.equal(await again.countRows(), count);
      if (!UNREADABLE.has(name)) assert.deepEqual(await plainRows(again), await plainRows(table));
    });
  }

  async function query(table: NativeTable): Promise<ResultFiles> {
    const batches = await table.query().execute();
    const files: Buffer[] = [];
    for (let file = await batches.next(); file !== null; file = await batches.next()) files.push(file);
    return { head: files[0] ?? (await table.query().outputSchema()), files: fromArray(files) };
  }
});

test('a long text leaves the event loop to others while it is written', async () => {
  const file = asFile(new Table({ x: vectorFromArray(Float64Array.from({ length: 500_000 }, Math.random)) }));
  let turns = 0;
  const count = (): void => {
    turns += 1;
    next = setImmediate(count);
  };
  let next = setImmediate(count);
  for await (const _piece of frame(jsonLines(), { head: file, files: [file] }));
  clearImmediate(next);
  assert.ok(turns >= 3, `${turns} turns`);
});

test('a result of one file is sent as the engine wrote it', () => {
  const file = toFile([{ id: 1, text: 'one', word: 'a' }]);
  assert.equal(frameWhole(arrowFile(), file, [file]), file);
});

for (const [title, hide, kept] of [
  ['last', hideLastColumn, ['id', 'name']],
  ['first', hideFirstColumn, ['name', 'number']],
] as const) {
  test(`the ${title} column, when it is hidden, is neither in the batches of a file nor in its footer`, () => {
    const table = new Table({
      id: vectorFromArray([1, 2], new Int32()),
      name: vectorFromArray(['one', null], new Utf8()),
      number: vectorFromArray([3, 4], new Int32()),
    });
    const shown = tableFromIPC(hide(Buffer.from(tableToIPC(table, 'file'))));
    assert.deepEqual(
      shown.schema.fields.map(({ name }) => name),
      kept,
    );
    for (const name of kept) assert.deepEqual([...(shown.getChild(name) ?? [])], [...(table.getChild(name) ?? [])]);
  });
}
