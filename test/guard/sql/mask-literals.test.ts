import assert from 'node:assert/strict';
import { test } from 'node:test';
import { maskLiterals } from '../../../src/guard/sql/guard-sql.ts';
import { guardSql } from '../../../src/guard/sql/guard-sql.ts';
import { testLimits } from '../../support/limits.ts';

const mask = (sql: string): string =>
  maskLiterals(guardSql(sql, { name: 'filter', field: 'filter' }, testLimits().sql));

test('every literal becomes a question mark, and nothing else changes', () => {
  for (const [sql, masked] of [
    ["name = 'it''s'", 'name = ?'],
    ['price > -1.5e3 AND `odd name` IS NOT NULL', 'price > -? AND `odd name` IS NOT NULL'],
    ["id IN (1, 2,3) OR day = date '2020-01-01'", 'id IN (?, …) OR day = date ?'],
    ["starts_with(name, 'x') AND flag = true", 'starts_with(name, ?) AND flag = true'],
  ] as const) {
    assert.equal(mask(sql), `(${masked})`);
  }
});
