import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { ALL_PROBES } from '../../src/model/tuning/search-tuning.ts';
import type { SearchSettings } from '../../src/model/tuning/search-tuning.ts';
import { LADDERS, START, climb } from '../../src/tuning/climb.ts';

type Recall = (settings: Required<Pick<SearchSettings, 'probes' | 'refineFactor'>>) => number;

/** Climbs on an imagined index; the time is over after so many measurements. */
async function climbOn(recall: Recall, measurementsMax = 100, ladders = LADDERS.IVF_PQ) {
  const visited: SearchSettings[] = [];
  const measure = async (settings: SearchSettings) => {
    if (visited.length >= measurementsMax) return undefined;
    visited.push(settings);
    const { probes = 0, refineFactor = 1 } = settings;
    return { settings, recall: recall({ probes, refineFactor }), milliseconds: probes + refineFactor };
  };
  return { visited, climbed: await climb({ ladders, start: START, goal: 0.975, measure }) };
}

/** Both limit what is found: the partitions that are left out, and the candidates that are not compared. */
const limited =
  (probesNeeded: number, refineNeeded: number): Recall =>
  ({ probes, refineFactor }) =>
    Math.min(1, probes / probesNeeded, refineFactor / refineNeeded);

suite('a climb', () => {
  for (const [probes, refine] of [
    [2, 4],
    [10, 10],
    [20, 120],
    [320, 4],
    [ALL_PROBES, 60],
  ] as const) {
    test(`ends at the cheapest settings, ${probes} probes and a refine factor of ${refine}`, async () => {
      const { climbed } = await climbOn(limited(probes, refine));
      assert.deepEqual(climbed?.measured.find(({ recall }) => recall >= 0.975)?.settings, {
        probes,
        refineFactor: refine,
      });
    });
  }

  test('does not measure anything twice', async () => {
    const { visited } = await climbOn(limited(40, 60));
    assert.equal(new Set(visited.map((settings) => JSON.stringify(settings))).size, visited.length);
  });

  test('reaches a goal that needs both more partitions and more candidates at once', async () => {
    const both: Recall = ({ probes, refineFactor }) => (probes >= 40 && refineFactor >= 60 ? 1 : 0.1);
    assert.equal((await climbOn(both)).climbed?.recall, 1);
  });

  test('ends at the top when nothing reaches the goal', async () => {
    const { climbed, visited } = await climbOn(() => 0.4);
    assert.equal(climbed?.recall, 0.4);
    assert.ok(visited.length < 40);
  });

  test('gives what it has when the time is over, and nothing when there was none', async () => {
    assert.equal((await climbOn(limited(320, 400), 3)).climbed?.measured.length, 3);
    assert.equal((await climbOn(limited(2, 4), 0)).climbed, undefined);
  });

  test('of an index of whole vectors tries only partitions', async () => {
    const { climbed } = await climbOn(limited(80, 1), 100, LADDERS.IVF_FLAT);
    assert.deepEqual(climbed?.measured.find(({ recall }) => recall >= 0.975)?.settings, { probes: 80 });
  });
});
