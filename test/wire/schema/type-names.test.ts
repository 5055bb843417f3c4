import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { ServiceError } from '../../../src/errors/service-error.ts';
import type { DataType, Field } from '../../../src/model/schema.ts';
import { readDataType } from '../../../src/wire/schema/read-data-type.ts';
import { toTypeJson } from '../../../src/wire/schema/schema-json.ts';
import { parseTypeName } from '../../../src/wire/schema/type-names.ts';
import { refusalOf } from '../../support/refusal.ts';

/** Plain objects, which can be compared with what is read. */
const record: typeof fc.record = (model: object) => fc.record(model, { noNullPrototype: true }) as never;

const units = fc.constantFrom('s', 'ms', 'us', 'ns');

const leaves: fc.Arbitrary<DataType> = fc.oneof(
  fc.constantFrom<DataType>(
    { kind: 'null' },
    { kind: 'bool' },
    { kind: 'date', unit: 'day' },
    { kind: 'date', unit: 'ms' },
    { kind: 'time', bits: 32, unit: 'ms' },
    { kind: 'time', bits: 64, unit: 'ns' },
  ),
  record({ kind: fc.constant('int' as const), bits: fc.constantFrom(8, 16, 32, 64), signed: fc.boolean() }),
  record({ kind: fc.constant('float' as const), bits: fc.constantFrom(16, 32, 64) }),
  record({ kind: fc.constantFrom('utf8' as const, 'binary' as const), layout: fc.constantFrom('plain', 'large') }),
  record({ kind: fc.constant('duration' as const), unit: units }),
  record({
    kind: fc.constant('timestamp' as const),
    unit: units,
    timezone: fc.constantFrom(undefined, 'UTC', 'Europe/Berlin', '+02:00'),
  }),
  record({
    kind: fc.constant('decimal' as const),
    bits: fc.constantFrom(128, 256),
    precision: fc.integer({ min: 10, max: 38 }),
    scale: fc.integer({ min: -9, max: 10 }),
  }),
  record({ kind: fc.constant('fixed-size-binary' as const), bytes: fc.integer({ min: 1, max: 64 }) }),
);

const types: fc.Arbitrary<DataType> = fc.letrec<{ type: DataType; field: Field }>((tie) => ({
  field: record({
    name: fc.string({ minLength: 1 }),
    nullable: fc.boolean(),
    type: tie('type'),
    metadata: fc.constant(new Map<string, string>()),
  }),
  type: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    leaves,
    record({ kind: fc.constant('list' as const), layout: fc.constantFrom('plain', 'large'), item: tie('field') }),
    record({
      kind: fc.constant('fixed-size-list' as const),
      length: fc.integer({ min: 1, max: 4096 }),
      item: tie('field'),
    }),
    record({
      kind: fc.constant('struct' as const),
      children: fc.array(tie('field'), { minLength: 1, maxLength: 3 }),
    }),
  ),
})).type;

suite('a data type', () => {
  test('that is written in either vocabulary is read as the same', () => {
    fc.assert(
      fc.property(types, fc.constantFrom('lance' as const, 'lancedb' as const), fc.boolean(), (type, words, asText) => {
        const json = toTypeJson(type, words);
        assert.deepEqual(readDataType(asText ? JSON.stringify(json) : json, 'data_type'), type);
      }),
    );
  });

  test('of any other form is refused with its field, and never crashes', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.string(), fc.jsonValue(), fc.record({ type: fc.jsonValue(), fields: fc.jsonValue() })),
        (value) => {
          try {
            readDataType(value, 'here');
          } catch (error) {
            assert.ok(error instanceof ServiceError);
            assert.equal(error.kind, 'InvalidInput');
            assert.match(error.message, /^here /);
          }
        },
      ),
    );
  });

  test('may be a short name', () => {
    const item = { name: 'item', nullable: true, type: { kind: 'float', bits: 32 }, metadata: new Map() };
    assert.deepEqual(parseTypeName('fixed_size_list:float:16'), { kind: 'fixed-size-list', length: 16, item });
    assert.deepEqual(parseTypeName('dict:string:int8:true'), {
      kind: 'dictionary',
      value: { kind: 'utf8', layout: 'plain' },
      index: { kind: 'int', bits: 8, signed: true },
      ordered: true,
    });
    for (const name of ['', 'int7', 'list', 'timestamp:x', 'time32:us', 'decimal:128:39:2', 'fixed_size_binary:0']) {
      assert.equal(parseTypeName(name), undefined, name);
    }
  });

  test('nests so deep and no deeper', () => {
    let type: unknown = 'int8';
    for (let depth = 0; depth < 40; depth += 1) type = { type: 'list', fields: [{ name: 'item', type }] };
    assert.match(refusalOf(() => readDataType(type, 'data_type')).message, /levels deep/);
  });
});
