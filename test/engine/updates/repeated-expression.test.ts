import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRepeatable, repeatExpression } from '../../../src/engine/updates/repeated-expression.ts';
import type { Field } from '../../../src/model/schema.ts';
import { sql } from '../test-engine.ts';

function field(type: Field['type']): Field {
  return { name: 'n', type, nullable: true, metadata: new Map() };
}

const FLOAT = field({ kind: 'float', bits: 64 });
const BIGINT = field({ kind: 'int', bits: 64, signed: true });

test('sums and products of the column itself and of numbers can be repeated', () => {
  for (const text of ['n + 1', '1 + n', 'n - 2', 'n * 3', '(n + 1) * 2', '`n` + 1', '-n']) {
    assert.ok(isRepeatable(sql(text), FLOAT), text);
    assert.ok(isRepeatable(sql(text), BIGINT), text);
  }
  assert.ok(isRepeatable(sql('n + 0.5'), FLOAT));
});

test('expressions with a conversion, or that read anything else, cannot be repeated', () => {
  for (const text of [
    'n + 0.5',
    'n + 12345678901',
    'n / 2',
    'n % 2',
    'm + 1',
    'N + 1',
    '1',
    'n + n',
    'abs(n)',
    "n || 'a'",
  ]) {
    assert.ok(!isRepeatable(sql(text), BIGINT), text);
  }
  for (const text of ['n / 2', 'n + m', 'n + n', 'round(n)', 'n + random()']) {
    assert.ok(!isRepeatable(sql(text), FLOAT), text);
  }
  assert.ok(!isRepeatable(sql('n + 1'), field({ kind: 'int', bits: 32, signed: true })));
  assert.ok(!isRepeatable(sql('n + 1'), undefined));
});

test('a repeated expression is applied to its own result', () => {
  assert.equal(repeatExpression(sql('n + 1'), FLOAT, 1), '(n + 1)');
  assert.equal(repeatExpression(sql('n + 1'), FLOAT, 3), '(((((n + 1)) + 1)) + 1)');
  assert.equal(repeatExpression(sql('2 * (n - 1)'), FLOAT, 2), '(2 * (((2 * (n - 1))) - 1))');
});
