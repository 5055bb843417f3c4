import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CallerSlots } from '../../../src/http/admission/caller-slots.ts';

const makeSlots = (slotsMax: number): CallerSlots => new CallerSlots({ slotsMax, reservedPercent: 25, path: '/x' });

test('a caller gets its share of the slots, and others get the rest', () => {
  const slots = makeSlots(4);
  for (let index = 0; index < 3; index += 1) slots.enter('one');
  assert.throws(() => slots.enter('one'), /already handling 3 requests of this caller to \/x/);
  slots.enter('other');
  assert.throws(() => slots.enter('other'), /already handling 4 requests to \/x/);
  assert.throws(() => slots.enter('one'), /of this caller/);
});

test('a slot is given back once', () => {
  const slots = makeSlots(1);
  const release = slots.enter('one');
  release();
  slots.enter('other');
  release();
  assert.throws(() => slots.enter('one'), /already handling 1 requests to/);
});
