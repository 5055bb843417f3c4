import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RowMatcher } from '../../../src/engine/diffs/row-matcher.ts';
import { seededRandom } from '../../support/arrow-fixtures.ts';

/** As small as these, hashes of different rows often meet in the same slot. */
function toRow([key, value]: readonly [number, number], id: number) {
  return { key0: key % 4, key1: key, row0: value % 2, row1: value, id: BigInt(id) };
}

/** The same by plain lists: equal rows cancel each other out, then rows of a key are paired in their order. */
function plainly(before: readonly (readonly [number, number])[], after: readonly (readonly [number, number])[]) {
  const left = after.map((row, id) => ({ row, id }));
  const take = (fits: (row: readonly [number, number]) => boolean): number | undefined => {
    const at = left.findIndex(({ row }) => fits(row));
    return at === -1 ? undefined : left.splice(at, 1)[0]?.id;
  };
  const ids = before.map((row, id) => ({ row, id }));
  const unmatched: typeof ids = [];
  // The first of equal rows is taken, on either side.
  for (const entry of ids.toReversed().toReversed()) {
    const isMatched = take(([key, value]) => key === entry.row[0] && value === entry.row[1]) !== undefined;
    if (!isMatched) unmatched.push(entry);
  }
  const changes = unmatched.map(({ row, id }) => ({ before: id, after: take(([key]) => key === row[0]) }));
  return { changes, added: left.map(({ id }) => id) };
}

test('rows are matched as plain lists would match them, with keys and rows that repeat', () => {
  for (let seed = 1; seed <= 200; seed += 1) {
    const random = seededRandom(seed);
    const rows = () => Array.from({ length: random(30) }, () => [random(6), random(3)] as const);
    const [before, after] = [rows(), rows()];
    const matcher = new RowMatcher(before.length);
    before.forEach((row, id) => matcher.addBefore(toRow(row, id)));
    after.forEach((row, id) => matcher.addAfter(toRow(row, id)));
    const { counts, first } = matcher.finish(1000);
    const expected = plainly(before, after);
    const changed = expected.changes.filter((change) => change.after !== undefined);
    assert.deepEqual(counts, {
      added: expected.added.length,
      removed: expected.changes.length - changed.length,
      changed: changed.length,
    });
    const values = (list: readonly number[], of: readonly (readonly [number, number])[]) =>
      list.map((id) => String(of[id])).toSorted();
    assert.deepEqual(
      values(
        first.flatMap((change) => ('before' in change ? Number(change.before) : [])),
        before,
      ),
      values(
        expected.changes.map((change) => change.before),
        before,
      ),
    );
  }
});

test('as many changes are listed as were asked for, and all are counted', () => {
  const matcher = new RowMatcher(10);
  for (let id = 0; id < 10; id += 1) matcher.addBefore(toRow([id, 0], id));
  for (let id = 5; id < 20; id += 1) matcher.addAfter(toRow([id, id < 8 ? 1 : 0], id));
  const { counts, first } = matcher.finish(7);
  assert.deepEqual(counts, { added: 10, removed: 5, changed: 3 });
  assert.deepEqual(
    first.map(({ change }) => change),
    ['removed', 'removed', 'removed', 'removed', 'removed', 'changed', 'changed'],
  );
});

test('rows of one key are paired, however many there are', () => {
  const matcher = new RowMatcher(500_000);
  for (let id = 0; id < 500_000; id += 1) matcher.addBefore({ key0: 1, key1: 1, row0: id, row1: 0, id: BigInt(id) });
  for (let id = 0; id < 500_000; id += 1) matcher.addAfter({ key0: 1, key1: 1, row0: id, row1: 1, id: BigInt(id) });
  const { counts, hasRepeatedKeys } = matcher.finish(1);
  assert.deepEqual([counts.changed, hasRepeatedKeys], [500_000, true]);
});
