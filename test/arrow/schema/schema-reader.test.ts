import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openArrowStream } from '../../../src/arrow/stream/checked-stream.ts';
import { readFileSchema } from '../../../src/arrow/schema/schema-reader.ts';
import { ServiceError } from '../../../src/errors/service-error.ts';
import { ARROW_LIMITS, expectedTables, fixtureStream, whole } from '../../support/arrow-fixtures.ts';
import { collectChunks, loadStream } from '../support/load-stream.ts';
import { NativeEngine } from '../support/native-engine.ts';

test('reads the schema of a stream from its chunks', async () => {
  for (const name of Object.keys(expectedTables())) {
    if (/^(decimal(32|64)|dense_union|fsl_struct|interval_mdn|list_view|ree|struct_empty)$/.test(name)) continue;
    const { schema } = await openArrowStream(whole(fixtureStream(name)), ARROW_LIMITS);
    const [chunk] = await collectChunks(fixtureStream(name));
    assert.deepEqual(readFileSchema(chunk?.file ?? Buffer.alloc(0)), schema, name);
  }
});

test('reads the schema of a table that the engine keeps, with all metadata', async () => {
  const engine = await NativeEngine.open();
  try {
    for (const name of ['meta', 'uuid_ext', 'list_struct', 'dict_nested', 'tstz_us', 'decimal256']) {
      const { schema, table } = await loadStream(engine, whole(fixtureStream(name)));
      assert.deepEqual(readFileSchema(await table.schema()), schema, name);
    }
  } finally {
    await engine.close();
  }
});

test('reads a file that is part of a larger buffer', async () => {
  const [chunk] = await collectChunks(fixtureStream('meta'));
  const file = chunk?.file ?? Buffer.alloc(0);
  const larger = new Uint8Array(Buffer.concat([Buffer.alloc(13), file, Buffer.alloc(5)]));
  const part = larger.subarray(13, 13 + file.length);
  assert.deepEqual(readFileSchema(part), readFileSchema(file));
});

test('takes what is not a file for a fault of ours', async () => {
  const [chunk] = await collectChunks(fixtureStream('meta'));
  const file = chunk?.file ?? Buffer.alloc(0);
  const long = Buffer.from(file);
  long.writeInt32LE(file.length, file.length - 10);
  for (const bytes of [Buffer.alloc(0), Buffer.from('ARROW1'), file.subarray(0, -1), long, Buffer.alloc(1000)]) {
    assert.throws(
      () => readFileSchema(bytes),
      (error) => error instanceof ServiceError && error.kind === 'Internal',
    );
  }
});
