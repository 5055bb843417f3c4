import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { Flatbuffer, MessageContext, writeI64 } from '../../../src/arrow/format/flatbuffer.ts';
import { readSchema } from '../../../src/arrow/schema/schema-reader.ts';
import { ServiceError } from '../../../src/errors/service-error.ts';
import { field, flatbuffer, schemaMessage, TYPES } from '../../support/arrow-fixtures.ts';

const over = (bytes: Buffer): Flatbuffer => new Flatbuffer(bytes, new MessageContext('Message 1', 0));

describe('a flatbuffer', () => {
  test('gives its fields, and what is meant by missing ones', () => {
    const reader = over(flatbuffer([{ u8: 7 }, { i16: -2 }, undefined, { i64: -5n }, { text: 'é' }, { i32: -9 }]));
    const root = reader.rootTable();
    assert.equal(reader.u8Field(root, 0, 1), 7);
    assert.equal(reader.i16Field(root, 1, 1), -2);
    assert.equal(reader.i32Field(root, 2, 33), 33);
    assert.equal(reader.i64Field(root, 3, 1), -5);
    assert.equal(reader.textField(root, 4), 'é');
    assert.equal(reader.i32Field(root, 5, 1), -9);
    assert.equal(reader.tableField(root, 99), undefined);
    assert.deepEqual([...reader.tables(root, 99)], []);
  });

  test('reads every exact number and refuses the others', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), (value) => {
        const bytes = Buffer.alloc(8);
        bytes.writeBigInt64LE(value);
        if (Number.isSafeInteger(Number(value))) assert.equal(over(bytes).i64(0), Number(value));
        else assert.throws(() => over(bytes).i64(0), ServiceError);
      }),
    );
  });

  test('writes every exact number as it reads it', () => {
    fc.assert(
      fc.property(fc.maxSafeInteger(), (value) => {
        const [written, expected] = [Buffer.alloc(8), Buffer.alloc(8)];
        writeI64(written, value, 0);
        expected.writeBigInt64LE(BigInt(value));
        assert.deepEqual(written, expected);
      }),
    );
  });

  test('refuses to be read outside of its bytes, and nothing worse, whatever they are', () => {
    const honest = schemaMessage([
      field('a', TYPES.struct, { children: [field('b', TYPES.utf8, { metadata: { key: 'value' } })] }),
    ]).subarray(8);
    const faults = fc.array(fc.tuple(fc.nat(honest.length - 1), fc.nat(255)), { minLength: 1, maxLength: 8 });
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 200 }).map((raw) => Buffer.from(raw)),
      faults.map((changes) => {
        const mutant = Buffer.from(honest);
        for (const [at, byte] of changes) mutant[at] = byte;
        return mutant;
      }),
    );
    fc.assert(
      fc.property(bytes, (raw) => {
        try {
          const reader = over(raw);
          const header = reader.tableField(reader.rootTable(), 2) ?? 0;
          readSchema(reader, header, { columnsMax: 100, depthMax: 8 });
        } catch (error) {
          assert.ok(error instanceof ServiceError, String(error));
        }
      }),
      { numRuns: 2000 },
    );
  });
});
