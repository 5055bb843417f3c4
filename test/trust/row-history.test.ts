import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { isLinearizable } from '../../trust/model/row-history.ts';
import type { Action } from '../../trust/model/row-history.ts';
import { SEEDED_BUGS } from '../../trust/model/seeded-bugs.ts';

const GOOD: readonly Action[] = [
  { kind: 'insert', value: 5, startedAt: 0, endedAt: 10, answer: { kind: 'done' } },
  { kind: 'read', value: 0, startedAt: 1, endedAt: 2, answer: { kind: 'rows', rows: [] } },
  { kind: 'read', value: 0, startedAt: 3, endedAt: 12, answer: { kind: 'rows', rows: [5] } },
  { kind: 'add', value: 2, startedAt: 11, endedAt: 20, answer: { kind: 'count', count: 1 } },
  { kind: 'upsert', value: 9, startedAt: 12, endedAt: Infinity, answer: { kind: 'unknown' } },
  { kind: 'read', value: 0, startedAt: 23, endedAt: 24, answer: { kind: 'rows', rows: [7] } },
];

suite('the checker of row histories', () => {
  test('finds an order for what a right server did, answers that never came included', () => {
    assert.ok(isLinearizable(GOOD));
    assert.ok(isLinearizable([]));
  });

  test('lets a write without an answer take effect late, never before it was sent', () => {
    const late: Action = { kind: 'insert', value: 1, startedAt: 5, endedAt: Infinity, answer: { kind: 'unknown' } };
    const seen = (startedAt: number): Action => ({
      kind: 'read',
      value: 0,
      startedAt,
      endedAt: startedAt + 1,
      answer: { kind: 'rows', rows: [1] },
    });
    assert.ok(isLinearizable([late, seen(100)]));
    assert.ok(!isLinearizable([late, seen(1)]));
  });

  for (const [name, apply] of Object.entries(SEEDED_BUGS)) {
    test(`finds ${name}`, () => assert.ok(!isLinearizable(apply(GOOD))));
  }
});
