import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { findComponents, projectVector } from '../../src/vectors/principal-components.ts';
import type { Matrix, Projection } from '../../src/vectors/principal-components.ts';

test('clusters that are far apart stay apart on the map, in the order of their distances', () => {
  const scene = fc.record({
    seed: fc.integer({ min: 1, max: 1_000_000 }),
    columns: fc.integer({ min: 3, max: 96 }),
    perCluster: fc.integer({ min: 5, max: 60 }),
  });
  fc.assert(
    fc.property(scene, ({ seed, columns, perCluster }) => {
      const random = randomOf(seed);
      // Three centres span a plane: at 0, 20 along one direction, and 60 along another.
      const [one, other] = perpendicular(columns, random);
      const centres = [0, 20, 60].map((far, at) => (at === 1 ? one : other).map((value) => value * far));
      const rows = centres.flatMap((centre) =>
        Array.from({ length: perCluster }, () => centre.map((value) => value + (random() - 0.5) * 0.5)),
      );
      const projection = drain(toMatrix(rows));
      const means = centres.map((_centre, at) =>
        meanPoint(rows.slice(at * perCluster, (at + 1) * perCluster).map((row) => projectVector(projection, row))),
      );
      const [nearPair, farPair, widest] = [distance(means, 0, 1), distance(means, 0, 2), distance(means, 1, 2)];
      assert.ok(nearPair < farPair && farPair < widest, `${nearPair} ${farPair} ${widest}`);
      assert.ok(projection.share > 0.9);
      rows.forEach((row, at) => {
        const place = projectVector(projection, row);
        const distances = means.map((mean) => Math.hypot(place[0] - mean[0], place[1] - mean[1]));
        assert.equal(distances.indexOf(Math.min(...distances)), Math.floor(at / perCluster));
      });
    }),
    { numRuns: 60 },
  );
});

test('the axes have length 1, are orthogonal, and show at least as much variance as any other two', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 1_000_000 }), fc.integer({ min: 2, max: 24 }), (seed, columns) => {
      const random = randomOf(seed);
      const rows = Array.from({ length: 80 }, () =>
        Array.from({ length: columns }, (_unused, at) => (random() - 0.5) * (at === 1 ? 9 : at === 0 ? 4 : 1)),
      );
      const { axes, mean, share } = drain(toMatrix(rows));
      assert.ok(Math.abs(dot(axes[0], axes[0]) - 1) < 1e-9);
      assert.ok(Math.abs(dot(axes[1], axes[1]) - 1) < 1e-9);
      assert.ok(Math.abs(dot(axes[0], axes[1])) < 1e-9);
      const plain = { mean, axes: [unit(columns, 1), unit(columns, 0)] as const, share: 0 };
      const spread = (each: Projection): number =>
        rows.map((row) => projectVector(each, row)).reduce((sum, [x, y]) => sum + x * x + y * y, 0);
      assert.ok(spread({ mean, axes, share }) >= spread(plain) * 0.9999);
    }),
    { numRuns: 60 },
  );
});

test('the same rows give the same map, and the share of two directions is all of two-dimensional data', () => {
  const random = randomOf(7);
  const rows = Array.from({ length: 300 }, () => {
    const [a, b] = [random() * 5, random()];
    return [a + b, a - b, 2 * a, 3 * b, 1];
  });
  const [first, second] = [drain(toMatrix(rows)), drain(toMatrix(rows))];
  assert.deepEqual(first, second);
  assert.ok(Math.abs(first.share - 1) < 1e-6);
});

test('equal rows, one row and no rows have a map too', () => {
  for (const rows of [
    [[1, 2, 3]],
    [
      [1, 2, 3],
      [1, 2, 3],
    ],
    [],
    [[5], [6]],
  ]) {
    const projection = drain(toMatrix(rows));
    for (const row of rows) for (const part of projectVector(projection, row)) assert.ok(Number.isFinite(part));
  }
});

test('the work is done in many short steps and reports its progress', () => {
  const random = randomOf(3);
  const rows = Array.from({ length: 2000 }, () => Array.from({ length: 16 }, random));
  const shares = [...findComponents(toMatrix(rows))];
  assert.ok(shares.length >= 16);
  assert.deepEqual(
    shares,
    shares.toSorted((one, other) => one - other),
  );
  assert.ok(shares.every((share) => share >= 0 && share < 1));
});

function drain(matrix: Matrix): Projection {
  const steps = findComponents(matrix);
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

function toMatrix(rows: readonly (readonly number[])[]): Matrix {
  return { values: Float32Array.from(rows.flat()), rows: rows.length, columns: rows[0]?.length ?? 3 };
}

function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}

/** Two directions of length 1 at right angles. */
function perpendicular(columns: number, random: () => number): readonly [number[], number[]] {
  const make = (): number[] => Array.from({ length: columns }, () => random() - 0.5);
  const first = scale(make());
  const other = make();
  const part = dot(first, other);
  return [first, scale(other.map((value, at) => value - part * (first[at] ?? 0)))];
}

function scale(vector: readonly number[]): number[] {
  const length = Math.sqrt(dot(vector, vector));
  return vector.map((value) => value / length);
}

function unit(columns: number, at: number): Float64Array {
  return Float64Array.from({ length: columns }, (_unused, place) => (place === at ? 1 : 0));
}

function dot(one: ArrayLike<number>, other: ArrayLike<number>): number {
  return Array.from(one).reduce((sum, value, at) => sum + value * (other[at] ?? 0), 0);
}

type Point = readonly [number, number];

function meanPoint(points: readonly Point[]): Point {
  const sum = points.reduce<Point>(([x, y], [px, py]) => [x + px, y + py], [0, 0]);
  return [sum[0] / points.length, sum[1] / points.length];
}

function distance(points: readonly Point[], one: number, other: number): number {
  const [from, to] = [points[one] ?? [0, 0], points[other] ?? [0, 0]];
  return Math.hypot(from[0] - to[0], from[1] - to[1]);
}
