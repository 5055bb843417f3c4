import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { GuardedSql, Query } from '../../../src/model/query.ts';
import { ALL_PROBES } from '../../../src/model/tuning/search-tuning.ts';
import type { IndexTuning, MeasuredSearch } from '../../../src/model/tuning/search-tuning.ts';
import { applyTuning } from '../../../src/operations/data/tuned-query.ts';

const measured = (recall: number, settings: MeasuredSearch['settings']): MeasuredSearch => {
  return { recall, settings, milliseconds: 1 };
};

const TUNING: IndexTuning = {
  index: 'vec_idx',
  indexType: 'IVF_PQ',
  column: 'vec',
  dimension: 2,
  distanceType: 'cosine',
  target: 0.95,
  rows: 10_000,
  classes: [
    { share: 1, measured: [measured(0.8, { probes: 2 }), measured(0.98, { probes: 5, refineFactor: 10 })] },
    { share: 0.1, measured: [measured(0.99, { probes: 10, refineFactor: 4 })] },
    { share: 0.01, measured: [measured(0.6, { probes: 20 }), measured(0.99, { probes: 80, refineFactor: 4 })] },
  ],
  tunedAt: 0,
  milliseconds: 1,
};

const QUERY: Query = {
  vectors: [[1, 2]],
  prefilter: true,
  bypassVectorIndex: false,
  fastSearch: false,
  withRowId: false,
  k: 10,
};
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- No engine reads it.
const FILTERED: Query = { ...QUERY, filter: 'id < 5' as GuardedSql };

suite('a search without parameters', () => {
  test('gets the cheapest ones that reach the target, with as many partitions and no more', () => {
    const { probes, refineFactor } = applyTuning(QUERY, TUNING);
    assert.deepEqual([probes, refineFactor], [{ minimum: 5, maximum: 5 }, 10]);
  });

  test('of a graph gets parameters with a higher measured recall: new vectors are found less easily than rows', () => {
    const classes = [{ share: 1, measured: [measured(0.98, { probes: 2 }), measured(0.996, { probes: 2, ef: 50 })] }];
    assert.equal(applyTuning(QUERY, { ...TUNING, classes }).ef, undefined);
    assert.equal(applyTuning(QUERY, { ...TUNING, classes, indexType: 'IVF_HNSW_SQ' }).ef, 50);
  });

  test('with a filter gets those of the widest class that is not wider than the filter', () => {
    const probesAt = (share: number): unknown => applyTuning(FILTERED, TUNING, share).probes;
    assert.deepEqual(probesAt(1), { minimum: 10, maximum: undefined });
    assert.deepEqual(probesAt(0.1), { minimum: 10, maximum: undefined });
    assert.deepEqual(probesAt(0.09), { minimum: 80, maximum: undefined });
    assert.deepEqual(probesAt(0.001), { minimum: ALL_PROBES, maximum: undefined });
  });

  test('whose filter follows the search is one without a filter', () => {
    assert.deepEqual(applyTuning({ ...FILTERED, prefilter: false }, TUNING).probes, { minimum: 5, maximum: 5 });
  });

  test('compares as many candidates for fewer results, and a bounded number for many', () => {
    const refineFor = (k: number): unknown => applyTuning({ ...QUERY, k }, TUNING).refineFactor;
    assert.deepEqual([1, 5, 10, 100, 1000, 5000, 100_000].map(refineFor), [100, 20, 10, 10, 10, 2, 1]);
  });
});

suite('the candidates of many vectors', () => {
  const vectors = Array.from({ length: 100 }, () => Array.from({ length: 768 }, () => 0));
  const classes = [{ share: 1, measured: [measured(0.98, { probes: 5, refineFactor: 60 })] }];
  const tuning = { ...TUNING, dimension: 768, classes };
  const refineFor = (count: number, k: number): unknown =>
    applyTuning({ ...QUERY, vectors: vectors.slice(0, count), k }, tuning, 1, 512 * 2 ** 20).refineFactor;

  test('take at most a quarter of the memory of a query', () => {
    assert.deepEqual([refineFor(1, 50), refineFor(10, 50), refineFor(100, 50)], [60, 60, 8]);
  });

  test('are not refined where not even the results fit into that', () => {
    assert.deepEqual([refineFor(100, 400), refineFor(100, 500)], [1, undefined]);
  });
});

suite('a target of the caller', () => {
  test('that is lower costs less', () => {
    assert.deepEqual(applyTuning({ ...QUERY, recallTarget: 0.5 }, TUNING).probes, { minimum: 2, maximum: 2 });
  });

  test('that no measured parameters reach, and that of 1, are exact searches by the distance of the index', () => {
    for (const recallTarget of [0.99, 1]) {
      const { bypassVectorIndex, distanceType, probes } = applyTuning({ ...QUERY, recallTarget }, TUNING);
      assert.deepEqual([bypassVectorIndex, distanceType, probes], [true, 'cosine', undefined]);
    }
  });
});

test('an index that cannot reach its target gives its best, or way to an exact search where that was measured', () => {
  const weak = measured(0.7, { probes: 320 });
  const only = { ...TUNING, classes: [{ share: 1, measured: [measured(0.5, { probes: 20 }), weak] }] };
  assert.deepEqual(applyTuning(QUERY, only).probes, { minimum: 320, maximum: 320 });
  const exact = { ...only, classes: [{ share: 1, measured: [weak, measured(1, { isExact: true })] }] };
  assert.equal(applyTuning(QUERY, exact).bypassVectorIndex, true);
  assert.equal(applyTuning(FILTERED, exact, 0.001).bypassVectorIndex, true);
});
