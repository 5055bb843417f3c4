import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { DataType, Field, Schema } from '../../../src/model/schema.ts';
import { toSchemaJson } from '../../../src/wire/schema/schema-json.ts';
import type { Dialect } from '../../../src/wire/shapes.ts';

const NONE: ReadonlyMap<string, string> = new Map();
const int32: DataType = { kind: 'int', bits: 32, signed: true };
const float32: DataType = { kind: 'float', bits: 32 };
const text: DataType = { kind: 'utf8', layout: 'plain' };

function field(name: string, type: DataType, nullable = true): Field {
  return { name, type, nullable, metadata: NONE };
}

function typeJson(type: DataType, dialect: Dialect): unknown {
  const schema: Schema = { fields: [field('f', type)], metadata: NONE };
  return toSchemaJson(schema, dialect).fields[0]?.type;
}

const leaves: readonly (readonly [type: DataType, lancedb: string, lance: string])[] = [
  [{ kind: 'null' }, 'null', 'null'],
  [{ kind: 'bool' }, 'bool', 'bool'],
  [{ kind: 'int', bits: 8, signed: true }, 'int8', 'int8'],
  [{ kind: 'int', bits: 64, signed: true }, 'int64', 'int64'],
  [{ kind: 'int', bits: 16, signed: false }, 'uint16', 'uint16'],
  [{ kind: 'int', bits: 64, signed: false }, 'uint64', 'uint64'],
  [{ kind: 'float', bits: 16 }, 'halffloat', 'float16'],
  [float32, 'float', 'float32'],
  [{ kind: 'float', bits: 64 }, 'double', 'float64'],
  [text, 'string', 'utf8'],
  [{ kind: 'utf8', layout: 'large' }, 'large_string', 'large_utf8'],
  [{ kind: 'binary', layout: 'plain' }, 'binary', 'binary'],
  [{ kind: 'binary', layout: 'large' }, 'large_binary', 'large_binary'],
  [{ kind: 'date', unit: 'day' }, 'date32:day', 'date32'],
  [{ kind: 'date', unit: 'ms' }, 'date64:ms', 'date64'],
  [{ kind: 'time', bits: 32, unit: 's' }, 'time32:s', 'time32:s'],
  [{ kind: 'time', bits: 32, unit: 'ms' }, 'time32:ms', 'time32:ms'],
  [{ kind: 'time', bits: 64, unit: 'us' }, 'time64:us', 'time64:us'],
  [{ kind: 'time', bits: 64, unit: 'ns' }, 'time64:ns', 'time64:ns'],
  [{ kind: 'timestamp', unit: 'us', timezone: undefined }, 'timestamp:us:-', 'timestamp:us:-'],
  [{ kind: 'timestamp', unit: 'ns', timezone: '+02:00' }, 'timestamp:ns:+02:00', 'timestamp:ns:+02:00'],
  [{ kind: 'duration', unit: 'ms' }, 'duration:ms', 'duration:ms'],
  [{ kind: 'decimal', bits: 128, precision: 10, scale: 2 }, 'decimal:128:10:2', 'decimal128(10, 2)'],
  [{ kind: 'decimal', bits: 256, precision: 40, scale: 0 }, 'decimal:256:40:0', 'decimal256(40, 0)'],
  [
    { kind: 'dictionary', index: int32, value: text, ordered: true },
    'dict:string:int32:false',
    'dictionary<int32, utf8>',
  ],
];

for (const [type, lancedb, lance] of leaves) {
  test(`writes ${JSON.stringify(type)} as ${lancedb} and ${lance}`, () => {
    assert.deepEqual(typeJson(type, 'lancedb'), { type: lancedb });
    assert.deepEqual(typeJson(type, 'lance'), { type: lance });
  });
}

test('writes types that hold others with their fields and lengths', () => {
  const item = { name: 'item', type: { type: 'float' }, nullable: true };
  assert.deepEqual(typeJson({ kind: 'fixed-size-list', length: 4, item: field('item', float32) }, 'lancedb'), {
    type: 'fixed_size_list',
    fields: [item],
    length: 4,
  });
  assert.deepEqual(typeJson({ kind: 'list', layout: 'plain', item: field('item', float32) }, 'lancedb'), {
    type: 'list',
    fields: [item],
  });
  assert.deepEqual(typeJson({ kind: 'list', layout: 'large', item: field('item', float32) }, 'lancedb'), {
    type: 'large_list',
    fields: [item],
  });
  assert.deepEqual(typeJson({ kind: 'struct', children: [field('x', float32), field('y', text, false)] }, 'lancedb'), {
    type: 'struct',
    fields: [
      { name: 'x', type: { type: 'float' }, nullable: true },
      { name: 'y', type: { type: 'string' }, nullable: false },
    ],
  });
  assert.deepEqual(typeJson({ kind: 'fixed-size-binary', bytes: 16 }, 'lancedb'), {
    type: 'fixed_size_binary',
    length: 16,
  });
});

test('speaks one dialect all the way down', () => {
  const deep: DataType = {
    kind: 'list',
    layout: 'plain',
    item: field('item', {
      kind: 'struct',
      children: [field('v', { kind: 'fixed-size-list', length: 2, item: field('item', float32) })],
    }),
  };
  assert.match(JSON.stringify(typeJson(deep, 'lance')), /"float32"/);
  assert.match(JSON.stringify(typeJson(deep, 'lancedb')), /"float"/);
});

test('carries metadata of the schema and of fields, and leaves it out where there is none', () => {
  const metadata = new Map([
    ['unit', 'EUR'],
    ['__proto__', 'x'],
  ]);
  const schema: Schema = { fields: [{ ...field('price', float32), metadata }, field('id', int32, false)], metadata };
  const json = JSON.stringify(toSchemaJson(schema, 'lance'));
  assert.equal(
    json,
    '{"fields":[{"name":"price","type":{"type":"float32"},"nullable":true,"metadata":{"unit":"EUR","__proto__":"x"}},' +
      '{"name":"id","type":{"type":"int32"},"nullable":false}],"metadata":{"unit":"EUR","__proto__":"x"}}',
  );
});

/** What the LanceDB client reads; any other word makes it refuse the whole schema. */
const CLIENT_LEAF =
  /^(?:null|bool|u?int(?:8|16|32|64)|halffloat|float|double|(?:large_)?(?:string|binary)|date32:day|date64:ms|time32:(?:s|ms)|time64:(?:us|ns)|timestamp:(?:s|ms|us|ns):.+|duration:(?:s|ms|us|ns)|decimal:(?:128|256):\d+:-?\d+|dict:[^:]+:u?int\d+:false)$/;
const CLIENT_NESTED = new Set(['list', 'large_list', 'fixed_size_list', 'struct', 'fixed_size_binary']);

test('writes every type that the LanceDB client can read in words that it knows', () => {
  const leaf = fc.constantFrom(...leaves.map(([type]) => type));
  const { type } = fc.letrec<{ type: DataType }>((tie) => ({
    type: fc.oneof(
      { maxDepth: 4 },
      leaf,
      fc.record({
        kind: fc.constant('list' as const),
        layout: fc.constantFrom('plain' as const, 'large' as const),
        item: tie('type').map((inner) => field('item', inner)),
      }),
      fc.record({
        kind: fc.constant('fixed-size-list' as const),
        length: fc.nat(),
        item: tie('type').map((inner) => field('item', inner)),
      }),
      fc.record({
        kind: fc.constant('struct' as const),
        children: fc.array(
          tie('type').map((inner) => field('x', inner)),
          { maxLength: 3 },
        ),
      }),
      fc.record({ kind: fc.constant('fixed-size-binary' as const), bytes: fc.nat() }),
    ),
  }));
  fc.assert(fc.property(type, (any) => assertReadable(typeJson(any, 'lancedb'))));
});

function assertReadable(json: unknown): void {
  const { type, fields, length } = json as { type: string; fields?: { type: unknown }[]; length?: number };
  if (!CLIENT_NESTED.has(type)) {
    assert.match(type, CLIENT_LEAF);
    assert.deepEqual(Object.keys(Object(json)), ['type']);
    return;
  }
  assert.equal(length !== undefined, type.startsWith('fixed_size_'));
  assert.equal(fields !== undefined, type !== 'fixed_size_binary');
  if (type.endsWith('list')) assert.equal(fields?.length, 1);
  for (const inner of fields ?? []) assertReadable(inner.type);
}
