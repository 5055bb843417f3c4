import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { openArrowStream } from '../../../src/arrow/stream/checked-stream.ts';
import type { Table } from '../../support/arrow-fixtures.ts';
import {
  ARROW_LIMITS,
  batchMessage,
  dictionaryEncoding,
  dictionaryMessage,
  field,
  END_OF_STREAM,
  int32s,
  padMetadata,
  range,
  schemaMessage,
  seededRandom,
  streamOf,
  stringBuffers,
  TYPES,
  whole,
} from '../../support/arrow-fixtures.ts';
import { collectChunks, loadStream } from '../support/load-stream.ts';
import { NativeEngine } from '../support/native-engine.ts';
import { plainRows } from '../support/plain-rows.ts';
import { assertRefused } from '../support/refusal.ts';

const NONE = Buffer.alloc(0);

const column = (name: string, id: number): Table => field(name, TYPES.utf8, { dictionary: dictionaryEncoding(id) });
const values = (id: number, texts: readonly string[], isDelta = false): Buffer =>
  dictionaryMessage(id, { rows: texts.length, nodes: [[texts.length, 0]], buffers: stringBuffers(texts) }, isDelta);
const rows = (...columns: readonly (readonly number[])[]): Buffer =>
  batchMessage({
    rows: columns[0]?.length ?? 0,
    nodes: columns.map((indices) => [indices.length, 0] as const),
    buffers: columns.flatMap((indices) => [NONE, int32s(indices)]),
  });
/** Indices into a dictionary that has grown so many times. */
const indices = (turn: number): readonly number[] => range(1000).map((row) => row % (turn + 1));
const one = schemaMessage([column('d', 0)]);

describe('dictionaries', () => {
  let engine: NativeEngine;
  before(async () => {
    engine = await NativeEngine.open();
  });
  after(async () => {
    await engine.close();
  });

  async function texts(stream: Buffer, chunkBytes = ARROW_LIMITS.chunkBytes): Promise<readonly unknown[]> {
    const { table, rows: count } = await loadStream(engine, whole(stream), { ...ARROW_LIMITS, chunkBytes });
    const read = await plainRows(table);
    assert.equal(read.length, count);
    return read.flatMap((row) => Object.values(row));
  }

  test('grow by deltas, which every later chunk carries', async () => {
    const turns = range(12).map((turn) => [values(0, [`v${turn}`], turn > 0), rows(indices(turn))]);
    const stream = streamOf(one, ...turns.flat());
    const wanted = range(12).flatMap((turn) => indices(turn).map((index) => `v${index}`));
    assert.deepEqual(await texts(stream), wanted);
    assert.deepEqual(await texts(stream, 64), wanted);
    assert.equal((await collectChunks(stream)).length, 1);
    assert.ok((await collectChunks(stream, { ...ARROW_LIMITS, chunkBytes: 64 })).length > 4);
  });

  test('may be replaced, which starts a chunk', async () => {
    const stream = streamOf(one, values(0, ['a', 'b']), rows([0, 1]), values(0, ['x', 'y']), rows([0, 1]), rows([1]));
    assert.deepEqual(await texts(stream), ['a', 'b', 'x', 'y', 'y']);
    assert.deepEqual(
      (await collectChunks(stream)).map((chunk) => chunk.rows),
      [2, 3],
    );
  });

  test('may be replaced and then grow', async () => {
    const stream = streamOf(one, values(0, ['a']), rows([0]), values(0, ['x']), values(0, ['y'], true), rows([0, 1]));
    assert.deepEqual(await texts(stream), ['a', 'x', 'y']);
  });

  test('that are replaced before any batch uses them add no chunk', async () => {
    const stream = streamOf(one, values(0, ['a']), values(0, ['b']), values(0, ['c']), rows([0]), values(0, ['d']));
    assert.deepEqual(await texts(stream), ['c']);
    assert.equal((await collectChunks(stream)).length, 1);
  });

  test('that are replaced give their memory back, whether a batch used them or not', async () => {
    const long = values(0, ['x'.repeat(63 * 1024)]);
    const messages = { metadata: padMetadata(values(0, ['a']), 1024 * 1024), body: long };
    for (const [part, message] of Object.entries(messages)) {
      for (const batch of [[], [rows([0])]]) {
        const start = process.memoryUsage().arrayBuffers;
        let most = 0;
        const pieces = async function* (): AsyncGenerator<Uint8Array> {
          yield one;
          for (let bytes = 0; bytes < 32 * 1024 * 1024; bytes += message.length) {
            yield message;
            yield* batch;
            most = Math.max(most, process.memoryUsage().arrayBuffers - start);
          }
          yield END_OF_STREAM;
        };
        const { chunks } = await openArrowStream(pieces(), { ...ARROW_LIMITS, chunksMax: 1000 });
        for await (const chunk of chunks) chunk.release();
        assert.ok(most < 8 * 1024 * 1024, `${part}: ${most} bytes`);
      }
    }
  });

  test('that are replaced and grow in any order give every batch the values at its place in the stream', async () => {
    const schema = schemaMessage([column('a', 0), column('b', 1)]);
    for (const seed of range(12)) {
      const random = seededRandom(seed);
      const inForce: string[][] = [['a'], ['b']];
      const messages = [schema, ...inForce.map((texts, id) => values(id, texts))];
      const wanted: unknown[] = [];
      for (const turn of range(40)) {
        const id = random(2);
        const known = inForce[id] ?? [];
        const text = `${turn}${'x'.repeat(random(3) * 500)}`;
        const kind = random(4);
        if (kind === 0) inForce[id] = [text];
        if (kind === 1) known.push(text);
        if (kind < 2) messages.push(values(id, [text], kind === 1));
        else {
          const picked = inForce.map((texts) => random(texts.length));
          messages.push(rows(...picked.map((index) => [index])));
          wanted.push(...picked.map((index, column) => inForce[column]?.[index]));
        }
      }
      assert.deepEqual(await texts(streamOf(...messages), [64, 4096, 1024 * 1024][seed % 3]), wanted, `seed ${seed}`);
    }
  });

  test('of other columns stay in force when one is replaced', async () => {
    const schema = schemaMessage([column('a', 5), column('b', 3)]);
    const stream = streamOf(
      schema,
      values(5, ['p']),
      values(3, ['q']),
      rows([0], [0]),
      values(5, ['r']),
      rows([0], [0]),
    );
    assert.deepEqual(await texts(stream), ['p', 'q', 'r', 'q']);
  });

  test('may come only after the first batches, as long as those have no rows', async () => {
    const schema = schemaMessage([column('d', 0)]);
    assert.deepEqual(await texts(streamOf(schema, values(0, ['a']), rows([]), rows([0]))), ['a']);
  });

  test('that are large make chunks large instead of many', async () => {
    const large = values(0, ['x'.repeat(100_000)]);
    const stream = streamOf(one, large, ...range(20).map(() => rows(Array<number>(2000).fill(0))));
    const chunks = await collectChunks(stream, { ...ARROW_LIMITS, chunkBytes: 110_000 });
    assert.ok(chunks.length <= 3, `${chunks.length} chunks`);
  });

  test('are bounded in bytes, one and all', async () => {
    const long = 'x'.repeat(3000);
    const limits = { dictionaryBytesMax: 8000 };
    const says = /A batch of dictionary 0, at byte \d+ .*limit of 8,000 bytes.*without a dictionary/;
    await assertRefused(streamOf(one, values(0, ['x'.repeat(9000)])), { says, limits });
    await assertRefused(streamOf(one, values(0, [long]), values(0, [long], true), values(0, [long], true)), {
      says,
      limits,
    });
    const replaced = streamOf(
      one,
      values(0, [long]),
      values(0, [long]),
      values(0, [long]),
      values(0, ['a']),
      rows([0]),
    );
    assert.deepEqual(await texts(replaced), ['a']);
  });

  test('may not be replaced without end', async () => {
    const turns = range(9).flatMap((turn) => [values(0, [`v${turn}`]), rows([0])]);
    const says = /more than 8 chunks, 8 of them because a dictionary was replaced/;
    await assertRefused(streamOf(one, ...turns), { says, limits: { chunksMax: 8 } });
  });

  test('are refused when no column has them', async () => {
    await assertRefused(streamOf(one, values(1, ['a'])), { says: /A batch of dictionary 1.*belongs to no column/ });
  });

  test('are refused when a delta comes first', async () => {
    await assertRefused(streamOf(one, values(0, ['a'], true)), {
      says: /adds to the dictionary 0, which has not been sent/,
    });
  });

  test('are refused when their batch does not fit their type', async () => {
    const odd = dictionaryMessage(0, { rows: 2, nodes: [[2, 0]], buffers: [NONE, int32s([0, 1]), NONE] });
    await assertRefused(streamOf(one, odd), { says: /A batch of dictionary 0.*"d", which has 8 bytes of offsets/ });
  });
});
