import assert from 'node:assert/strict';
import { test } from 'node:test';
import { needsStorageVersion22 } from '../../../src/arrow/schema/schema-rules.ts';
import type { DataType, Field, Schema } from '../../../src/model/schema.ts';

const named = (type: DataType): Field => ({ name: 'x', nullable: true, type, metadata: new Map() });
const schemaOf = (...types: readonly DataType[]): Schema => ({ fields: types.map(named), metadata: new Map() });

const INT: DataType = { kind: 'int', bits: 32, signed: true };
const STRUCT: DataType = { kind: 'struct', children: [named(INT)] };
const MAP: DataType = {
  kind: 'map',
  keysSorted: false,
  entries: named({ kind: 'struct', children: [named(INT), named(INT)] }),
};
const listOf = (type: DataType): DataType => ({ kind: 'list', layout: 'plain', item: named(type) });
const vectorOf = (type: DataType): DataType => ({ kind: 'fixed-size-list', length: 2, item: named(type) });

test('ordinary tables, vectors and structs among them, need no newer storage', () => {
  assert.equal(
    needsStorageVersion22(schemaOf(INT, STRUCT, listOf(STRUCT), vectorOf(INT), listOf(vectorOf(INT)))),
    false,
  );
});

test('maps need the newer storage, at any depth', () => {
  assert.equal(needsStorageVersion22(schemaOf(INT, MAP)), true);
  assert.equal(needsStorageVersion22(schemaOf({ kind: 'struct', children: [named(listOf(MAP))] })), true);
});
