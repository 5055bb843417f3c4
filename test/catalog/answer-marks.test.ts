import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AnswerMarks } from '../../src/catalog/answer-marks.ts';
import { temporaryFile } from './temporary-catalog.ts';

test('marks are found by the next process and the one after it, in their order', async (context) => {
  const file = await temporaryFile(context);
  for (const id of ['a', 'b', 'c']) {
    const marks = AnswerMarks.open(file);
    marks.set({ id, digest: `of ${id}`.replace(' ', '-') });
    marks.close();
  }
  const marks = AnswerMarks.open(file);
  context.after(() => marks.close());
  assert.deepEqual(
    marks.found.map(({ id, digest }) => `${id} ${digest}`),
    ['a of-a', 'b of-b', 'c of-c'],
  );
});

test('a mark that was taken back is not found, and the oldest make way', async (context) => {
  const file = await temporaryFile(context);
  const first = AnswerMarks.open(file);
  const slots = Array.from({ length: 4100 }, (_, number) => first.set({ id: `id${number}`, digest: 'digest' }));
  first.clear(slots.at(-1) ?? -1);
  first.close();
  const marks = AnswerMarks.open(file);
  context.after(() => marks.close());
  const ids = marks.found.map(({ id }) => id);
  assert.equal(ids[0], 'id4');
  assert.equal(ids.at(-1), 'id4098');
});
