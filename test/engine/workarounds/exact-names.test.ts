import assert from 'node:assert/strict';
import { test } from 'node:test';
import { useExactNames } from '../../../src/engine/workarounds/exact-names.ts';
import type { Field } from '../../../src/model/schema.ts';

const NAMES = [
  'id',
  'Day',
  'DATE',
  'Interval',
  'Zone',
  'Time',
  'Null',
  'Both',
  'At',
  'Int',
  'Or',
  'Now',
  'Abs',
  'Array',
];
const fields = NAMES.map((name): Field => ({ name, type: { kind: 'null' }, nullable: true, metadata: new Map() }));
const schema = { fields, metadata: new Map<string, string>() };

test('a bare name in another case becomes that of its column', () => {
  for (const [text, exact] of [
    ['ID', '`id`'],
    ['(Id + abs(-iD)) = ID', '(`id` + abs(-`id`)) = `id`'],
    ['NOT ID IN (ID, 1) OR f(1, ID)', 'NOT `id` IN (`id`, 1) OR f(1, `id`)'],
    ['day BETWEEN ID AND time', '`Day` BETWEEN `id` AND `Time`'],
    ['ID.ID[ID]', '`id`.ID[`id`]'],
    ['substring(ID FROM ID FOR ID)', 'substring(`id` FROM `id` FOR `id`)'],
    ['array[ID] = ARRAY', 'array[`id`] = `Array`'],
  ] as const) {
    assert.equal(useExactNames(schema, text), exact);
  }
});

test('no keyword, type, unit, literal, function, field or quoted name becomes a column', () => {
  for (const text of [
    'id = Day',
    "x > INTERVAL '1' DAY OR x < interval 2 DAY",
    "x = date '2024-01-01' - 'ID' || ' DAY '",
    'EXTRACT(DAY FROM id)',
    'CAST(id AS INT) + id::date::int',
    "x AT TIME ZONE 'UTC' IS NOT NULL AND null IS NULL OR x",
    'ABS(id) + abs (id)',
    'id.DAY + id.`day`',
    '`ID` + `day`',
    "trim(BOTH 'x' FROM id)",
    'now + NOW()',
  ]) {
    assert.equal(useExactNames(schema, text), text);
  }
});
