import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toAssignmentTree } from '../../../src/engine/updates/assignments.ts';
import { toPointUpdate } from '../../../src/engine/updates/point-update.ts';
import type { PointUpdate } from '../../../src/engine/updates/point-update.ts';
import { UpdateGroup } from '../../../src/engine/updates/update-group.ts';
import type { FieldPath } from '../../../src/model/field-path.ts';
import type { DataType, Field, Schema } from '../../../src/model/schema.ts';
import { sql } from '../test-engine.ts';

const INT: DataType = { kind: 'int', bits: 32, signed: true };
const TEXT: DataType = { kind: 'utf8', layout: 'plain' };

const SCHEMA: Schema = {
  fields: [
    field('id', INT),
    field('ID', INT),
    field('tiny', { kind: 'int', bits: 8, signed: true }),
    field('unsigned', { kind: 'int', bits: 64, signed: false }),
    field('key', TEXT),
    field('odd name', TEXT),
    field('json', TEXT, { 'ARROW:extension:name': 'arrow.json' }),
    field('price', { kind: 'float', bits: 64 }),
    field('half', { kind: 'float', bits: 16 }),
    field('flag', { kind: 'bool' }),
    field('note', TEXT),
    field('amount', { kind: 'decimal', bits: 128, precision: 10, scale: 2 }),
    field('point', { kind: 'struct', children: [field('x', INT)] }),
  ],
  metadata: new Map(),
};

function field(name: string, type: DataType, metadata: Record<string, string> = {}): Field {
  return { name, type, nullable: true, metadata: new Map(Object.entries(metadata)) };
}

type Written = readonly [predicate: string | undefined, ...pairs: readonly (readonly [path: string, sql: string])[]];

function toUpdate([predicate, ...pairs]: Written): PointUpdate | undefined {
  const assignments = pairs.map(([path, expression]) => ({ path: toPath(path), expression: sql(expression) }));
  return toPointUpdate(toAssignmentTree(assignments), predicate === undefined ? undefined : sql(predicate));
}

function toPath(text: string): FieldPath {
  const [first = '', ...rest] = text.split('.');
  return [first, ...rest];
}

/** The one update that they become: its predicate and its expressions. */
function combine(...written: readonly Written[]): readonly unknown[] | undefined {
  const [first, ...others] = written.map(toUpdate);
  const group = first === undefined ? undefined : UpdateGroup.start(first, SCHEMA);
  if (group === undefined || !others.every((update) => update !== undefined && group.add(update))) return undefined;
  const update = group.toUpdate();
  return [update.predicate, ...[...update.tree].map(([name, node]) => [name, 'expression' in node && node.expression])];
}

const PLUS = ['price', 'price + 1'] as const;
const HALF = ['price', 'price / 2'] as const;

test('joins the predicates into one, and keeps a shared expression', () => {
  assert.deepEqual(combine(['id = 1', PLUS], ['-7=id', PLUS], ['((id = 002))', PLUS]), [
    '(id IN (1, -7, 2))',
    ['price', '(price + 1)'],
  ]);
});

test('distinguishes texts by their value, including quotes', () => {
  assert.deepEqual(combine(["key = 'it''s'", PLUS], ["key = ''", PLUS])?.[0], "(key IN ('it''s', ''))");
});

test('keeps a name in backticks unchanged', () => {
  assert.deepEqual(combine(["`odd name` = 'a'", PLUS], ["`odd name` = 'b'", PLUS])?.[0], "(`odd name` IN ('a', 'b'))");
});

test('looks plain values up by the position of the key, each written in the type of the column', () => {
  assert.deepEqual(combine(['id = 1', ['price', '5']], ['id = 2', ['price', '-2.5e3']], ['id = 3', ['price', '-0']]), [
    '(id IN (1, 2, 3))',
    [
      'price',
      "(make_array(5.0, -2.5e3, 0.0)[CAST(array_position(arrow_cast(make_array(1, 2, 3), 'List(Int32)'), id) AS BIGINT)])",
    ],
  ]);
});

test('mixes columns with a shared expression and columns with values', () => {
  const note = (text: string) => ['note', `'${text}'`] as const;
  const update = combine(['tiny = 1', PLUS, note('a')], ['tiny = 2', note('b'), PLUS]);
  assert.deepEqual(update?.[1], ['price', '(price + 1)']);
  assert.match(String(update?.[2]), /^note,\(make_array\('a', 'b'\)\[/);
});

test('applies the same sum of the same row to its own result', () => {
  const update = combine(['id = 1', PLUS], ['id = 01', PLUS], ['1 = id', PLUS]);
  assert.deepEqual(update, ['(id IN (1))', ['price', '(((((price + 1)) + 1)) + 1)']]);
});

for (const [title, ...written] of [
  ['the same key', ['id = 1', HALF], ['id = 1', HALF]],
  ['the same key in another spelling', ['id = 1', HALF], ['id = 01', HALF]],
  ['the same key from the other side', ['id = 1', HALF], ['1 = id', HALF]],
  ['zero with and without a sign', ['id = 0', HALF], ['id = -0', HALF]],
  ['the same key with another sum', ['id = 1', PLUS], ['id = 1', ['price', 'price + 2']]],
  ['a repeated key beside another', ['id = 1', PLUS], ['id = 2', PLUS], ['id = 1', PLUS]],
  ['another key behind a repeated one', ['id = 1', PLUS], ['id = 1', PLUS], ['id = 2', PLUS]],
  ['different key columns', ['id = 1', PLUS], ['tiny = 2', PLUS]],
  ['key columns that differ in case', ['id = 1', PLUS], ['ID = 2', PLUS]],
  ['no predicate', ['id = 1', PLUS], [undefined, PLUS]],
  ['more than an equation', ['id = 1', PLUS], ['id = 2 OR id = 3', PLUS]],
  ['an equation of an equation', ['id = 1', PLUS], ['id = 2 = true', PLUS]],
  ['another comparison', ['id = 1', PLUS], ['id == 2', PLUS]],
  ['a comparison with null', ['id = 1', PLUS], ['id = NULL', PLUS]],
  ['a comparison of two columns', ['id = 1', PLUS], ['id = tiny', PLUS]],
  ['a field inside a struct as the key', ['point.x = 1', PLUS], ['point.x = 2', PLUS]],
  ['a key column that is not there', ['nope = 1', PLUS], ['nope = 2', PLUS]],
  ['a key column found only without regard to case', ['TINY = 1', PLUS], ['TINY = 2', PLUS]],
  ['a key of another type', ['id = 1', PLUS], ["id = '2'", PLUS]],
  ['a text key of another type', ["key = 'a'", PLUS], ['key = 2', PLUS]],
  ['a key with a fraction', ['id = 1', PLUS], ['id = 2.0', PLUS]],
  ['a key out of range', ['tiny = 1', PLUS], ['tiny = 128', PLUS]],
  ['a negative key of a column without signs', ['unsigned = 1', PLUS], ['unsigned = -1', PLUS]],
  [
    'a key that the engine reads as a floating number',
    ['unsigned = 1', PLUS],
    ['unsigned = 9223372036854775808', PLUS],
  ],
  ['floating keys', ['price = 1', ['note', "'a'"]], ['price = 2', ['note', "'a'"]]],
  ['keys of an extension type', ["json = 'a'", PLUS], ["json = 'b'", PLUS]],
  ['a change of the key column', ['id = 1', ['id', 'id + 1']], ['id = 2', ['id', 'id + 1']]],
  ['a change of the key column by the second', ['id = 1', PLUS], ['id = 2', ['id', '5']]],
  ['other columns', ['id = 1', PLUS], ['id = 2', ['note', "'a'"]]],
  ['one column more', ['id = 1', PLUS], ['id = 2', PLUS, ['note', "'a'"]]],
  ['one column less', ['id = 1', PLUS, ['note', "'a'"]], ['id = 2', PLUS]],
  ['a field inside a struct', ['id = 1', ['point.x', '1']], ['id = 2', ['point.x', '1']]],
  ['different expressions', ['id = 1', PLUS], ['id = 2', ['price', 'price + 2']]],
  ['an expression and a value', ['id = 1', PLUS], ['id = 2', ['price', '2']]],
  ['a value and an expression', ['id = 1', ['price', '2']], ['id = 2', PLUS]],
  ['a value and null', ['id = 1', ['price', '2']], ['id = 2', ['price', 'NULL']]],
  ['values that are converted with loss', ['id = 1', ['tiny', '1.5']], ['id = 2', ['tiny', '2.5']]],
  ['text for a number', ['id = 1', ['tiny', "'1'"]], ['id = 2', ['tiny', "'2'"]]],
  ['a value out of range', ['id = 1', ['tiny', '1']], ['id = 2', ['tiny', '128']]],
  ['a whole number that no floating one equals', ['id = 1', ['price', '1']], ['id = 2', ['price', '9007199254740993']]],
  ['values of a decimal column', ['id = 1', ['amount', '1.1']], ['id = 2', ['amount', '2.2']]],
  ['values of a half-precision column', ['id = 1', ['half', '1.1']], ['id = 2', ['half', '2.2']]],
  ['numbers for a flag', ['id = 1', ['flag', '1']], ['id = 2', ['flag', '0']]],
  ['values of an extension type', ['id = 1', ['json', "'1'"]], ['id = 2', ['json', "'2'"]]],
  ['a random number', ['id = 1', ['price', 'random()']], ['id = 2', ['price', 'random()']]],
  ['a random text', ['id = 1', ['note', 'UUID()']], ['id = 2', ['note', 'UUID()']]],
] as const) {
  test(`does not combine updates with ${title}`, () => assert.equal(combine(...written), undefined));
}

test('bounds the number of characters', () => {
  const long = (id: number): Written => [`id = ${id}`, ['note', `'${String(id).repeat(3000)}'`]];
  assert.notEqual(combine(long(1), long(2)), undefined);
  assert.equal(combine(...[1, 2, 3, 4, 5, 6].map(long)), undefined);
});

test('accepts further updates after one that did not fit', () => {
  const one = toUpdate(['id = 1', HALF]) ?? assert.fail('a point update');
  const other = toUpdate(['id = 2', HALF]) ?? assert.fail('a point update');
  const group = UpdateGroup.start(one, SCHEMA);
  assert.equal(group?.add(one), false);
  assert.equal(group?.add(other), true);
  assert.deepEqual(group?.toUpdate().keys, ['1', '2']);
});
