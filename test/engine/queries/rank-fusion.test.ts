import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Table, Uint64, tableFromIPC, tableToIPC, vectorFromArray } from 'apache-arrow';
import fc from 'fast-check';
import { loadNative } from '../../../src/engine/native/native.ts';
import { FUSION_CONSTANT, fuseByRank } from '../../../src/engine/queries/rank-fusion.ts';

/** Up to this many rows the engine's sort is stable. */
const STABLE_ROWS = 20;

function toFile(ids: readonly bigint[]): Buffer {
  const table = new Table({ _rowid: vectorFromArray([...ids], new Uint64()) });
  return Buffer.from(tableToIPC(table, 'file'));
}

const toRows = (ids: readonly bigint[], value: (id: bigint) => number) => ids.map((id) => ({ id, value: value(id) }));
const toDistance = (id: bigint): number => Number(id) / 8;
const toScore = (id: bigint): number => Number(id) + 0.5;

/** Row ids, from far apart in a large table, that two searches share in part. */
const LISTS = fc
  .integer({ min: 1, max: 120 })
  .chain((count) =>
    fc.tuple(
      fc.shuffledSubarray(Array.from({ length: count }, (_, index) => BigInt(index % 7) * 2n ** 32n + BigInt(index))),
      fc.shuffledSubarray(Array.from({ length: count }, (_, index) => BigInt(index % 7) * 2n ** 32n + BigInt(index))),
    ),
  );

test('ranks are fused as the engine fuses them', async () => {
  const engine = await loadNative().RrfReranker.tryNew(Float32Array.of(FUSION_CONSTANT));
  await fc.assert(
    fc.asyncProperty(LISTS, async ([vector, text]) => {
      const fused = await fuseByRank(toRows(vector, toDistance), toRows(text, toScore));
      // The engine takes no file without rows.
      if (vector.length === 0 || text.length === 0) return;
      const expected = tableFromIPC(await engine.rerankHybrid('', toFile(vector), toFile(text)));
      const relevances = [...(expected.getChild('_relevance_score') ?? [])];
      const ids = [...(expected.getChild('_rowid') ?? [])];
      assert.deepEqual(
        fused.map(({ relevance }) => relevance),
        relevances,
      );
      const relevanceOf = new Map(ids.map((id, index) => [id, relevances[index]]));
      for (const { id, relevance } of fused) assert.equal(relevance, relevanceOf.get(id));
      if (ids.length <= STABLE_ROWS)
        assert.deepEqual(
          fused.map(({ id }) => id),
          ids,
        );
    }),
    { numRuns: 500 },
  );
});

test('each row has the measures of the searches that found it', async () => {
  await fc.assert(
    fc.asyncProperty(LISTS, async ([vector, text]) => {
      const fused = await fuseByRank(toRows(vector, toDistance), toRows(text, toScore));
      assert.deepEqual(new Set(fused.map(({ id }) => id)), new Set([...vector, ...text]));
      for (const { id, distance, score } of fused) {
        assert.equal(distance, vector.includes(id) ? toDistance(id) : undefined);
        assert.equal(score, text.includes(id) ? toScore(id) : undefined);
      }
    }),
  );
});

test('rows of equal relevance come in the order of the vector search, then in that of the full-text search', async () => {
  const ids = Array.from({ length: 50 }, (_, index) => BigInt(index));
  const fused = await fuseByRank(
    ids.map((id) => ({ id, value: 0 })),
    ids.map((id) => ({ id: id + 100n, value: 0 })),
  );
  assert.deepEqual(
    fused.map(({ id }) => id),
    ids.flatMap((id) => [id, id + 100n]),
  );
});

test('many rows are fused in the same order, in many turns of the event loop', async () => {
  const count = 60_000;
  const vector = Array.from({ length: count }, (_, rank) => ({ id: BigInt(rank), value: rank }));
  const text = vector.map(({ value }) => ({ id: BigInt((value * 7919) % (2 * count)), value }));
  let turns = 0;
  const countTurn = (): void => {
    turns += 1;
    next = setImmediate(countTurn);
  };
  let next = setImmediate(countTurn);
  const fused = await fuseByRank(vector, text);
  clearImmediate(next);
  assert.ok(turns >= 20, `${turns} turns`);
  const relevances = new Map<bigint, number>();
  for (const rows of [vector, text]) {
    for (const [rank, { id }] of rows.entries()) {
      const share = Math.fround(1 / (rank + FUSION_CONSTANT));
      relevances.set(id, Math.fround((relevances.get(id) ?? 0) + share));
    }
  }
  const wanted = [...relevances].toSorted(([, left], [, right]) => right - left);
  assert.deepEqual(
    fused.map(({ id, relevance }) => [id, relevance]),
    wanted,
  );
});
