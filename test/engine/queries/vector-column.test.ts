import assert from 'node:assert/strict';
import { test } from 'node:test';
import { requireVectorColumn } from '../../../src/engine/queries/vector-column.ts';
import type { ErrorName } from '../../../src/errors/service-error.ts';
import { ServiceError } from '../../../src/errors/service-error.ts';
import type { FieldPath } from '../../../src/model/field-path.ts';
import type { DataType, Field, Schema } from '../../../src/model/schema.ts';
import { toQuery } from '../test-engine.ts';

const FLOAT: DataType = { kind: 'float', bits: 32 };

function toField(name: string, type: DataType): Field {
  return { name, type, nullable: true, metadata: new Map() };
}

function vector(length: number, item: DataType = FLOAT): DataType {
  return { kind: 'fixed-size-list', length, item: toField('item', item) };
}

const SCHEMA: Schema = {
  metadata: new Map(),
  fields: [
    toField('id', { kind: 'int', bits: 32, signed: true }),
    toField('vec', vector(4)),
    toField('twin_a', vector(8)),
    toField('meta', { kind: 'struct', children: [toField('twin.b', vector(8)), toField('own', vector(7))] }),
    toField('bits', vector(2, { kind: 'int', bits: 8, signed: false })),
    toField('signed', vector(9, { kind: 'int', bits: 8, signed: true })),
    toField('many', { kind: 'list', layout: 'plain', item: toField('item', vector(3)) }),
  ],
};

function find(vectors: readonly (readonly number[])[], vectorColumn?: FieldPath) {
  return requireVectorColumn(toQuery({ vectors, ...(vectorColumn === undefined ? {} : { vectorColumn }) }), SCHEMA);
}

const zeros = (length: number): number[] => Array.from({ length }, () => 0);

test("finds the only vector column of the query's dimension, nested or not", () => {
  assert.deepEqual(find([zeros(4)]), { path: ['vec'], isMultiVector: false });
  assert.deepEqual(find([zeros(7)]), { path: ['meta', 'own'], isMultiVector: false });
  assert.deepEqual(find([zeros(3), zeros(3)]), { path: ['many'], isMultiVector: true });
});

test('uses the named column', () => {
  assert.deepEqual(find([zeros(8)], ['meta', 'twin.b']), { path: ['meta', 'twin.b'], isMultiVector: false });
});

const REFUSED: readonly (readonly [
  string,
  readonly (readonly number[])[],
  FieldPath | undefined,
  ErrorName,
  RegExp,
])[] = [
  [
    'several candidates, and lists them',
    [zeros(8)],
    undefined,
    'InvalidInput',
    /"twin_a" \(8\), "meta\.`twin\.b`" \(8\)/,
  ],
  [
    'a dimension that no column has',
    [zeros(5)],
    undefined,
    'InvalidInput',
    /no vector column of 5 dimensions.*"vec" \(4\)/,
  ],
  ['a column that is not there', [zeros(4)], ['nope'], 'TableColumnNotFound', /nope/],
  ['a bare name of a nested column', [zeros(7)], ['own'], 'TableColumnNotFound', /own/],
  ['a nested column that is not there', [zeros(4)], ['meta', 'a.b'], 'TableColumnNotFound', /meta\.`a\.b`/],
  ['a column that is not a vector', [zeros(4)], ['id'], 'InvalidInput', /"id" is not a vector.*int32/],
  ['a vector of signed bytes', [zeros(9)], ['signed'], 'InvalidInput', /is not a vector column/],
  ['signed bytes as the only candidate', [zeros(9)], undefined, 'InvalidInput', /no vector column of 9/],
  ['another dimension, with both numbers', [zeros(5)], ['vec'], 'InvalidInput', /5 dimensions.*"vec" has 4/],
  ['vectors of different lengths', [zeros(4), zeros(3)], ['vec'], 'InvalidInput', /differ in length: 4 and 3/],
  ['an empty vector', [[]], ['vec'], 'InvalidInput', /is empty/],
  ['a number beyond 32-bit floats', [[1e300, 0, 0, 0]], ['vec'], 'InvalidInput', /1e\+300.*32-bit floats/],
  ['a fraction for a vector of bytes', [[0.5, 1]], ['bits'], 'InvalidInput', /0\.5.*from 0 to 255/],
  ['a number beyond bytes for a vector of bytes', [[0, 256]], ['bits'], 'InvalidInput', /256/],
];

for (const [title, vectors, column, kind, pattern] of REFUSED) {
  test(`refuses ${title}`, () => {
    assert.throws(
      () => find(vectors, column),
      (error) => error instanceof ServiceError && error.kind === kind && pattern.test(error.detail),
    );
  });
}
