/** Rows of equal length, one after the other. */
export interface Matrix {
  readonly values: Float32Array;
  readonly rows: number;
  readonly columns: number;
}

export interface Projection {
  readonly mean: Float64Array;
  /** Two orthogonal directions of length 1, the one with the largest variance first. */
  readonly axes: readonly [Float64Array, Float64Array];
  /** The share of the variance that both explain, from 0 to 1. */
  readonly share: number;
}

/** More directions than needed, so that the needed ones converge faster. */
const DIRECTIONS = 6;
const ROUNDS_MAX = 60;
const CHANGE_MAX = 1e-5;
const ROWS_PER_STEP = 250;

/**
 * The two principal components, by subspace iteration from a fixed start: the same rows produce the same map. Yields
 * the completed share of the work every few rows, so that a page can respond in between.
 */
export function* findComponents(matrix: Matrix): Generator<number, Projection> {
  const mean = yield* meanOf(matrix);
  const total = yield* spreadOf(matrix, mean);
  let basis = orthonormal(startOf(Math.min(DIRECTIONS, matrix.columns), matrix.columns));
  let [before, found] = [0, 0];
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    const image = yield* multiply(matrix, mean, basis, round / ROUNDS_MAX);
    const turned = rotate(basis, image);
    found = (turned.variances[0] ?? 0) + (turned.variances[1] ?? 0);
    basis = orthonormal(turned.images);
    if (Math.abs(found - before) <= CHANGE_MAX * found) break;
    before = found;
  }
  const [first = new Float64Array(matrix.columns), second = new Float64Array(matrix.columns)] = basis;
  const share = total === 0 ? 1 : Math.min(1, found / total);
  return { mean, axes: [withFixedSign(first), withFixedSign(second)], share };
}

/** The position of a vector on the map. */
export function projectVector({ mean, axes }: Projection, vector: ArrayLike<number>): readonly [number, number] {
  let [x, y] = [0, 0];
  for (let at = 0; at < mean.length; at += 1) {
    const value = (vector[at] ?? 0) - (mean[at] ?? 0);
    x += value * (axes[0][at] ?? 0);
    y += value * (axes[1][at] ?? 0);
  }
  return [x, y];
}

function* meanOf({ values, rows, columns }: Matrix): Generator<number, Float64Array> {
  const sums = new Float64Array(columns);
  for (let index = 0; index < rows; index += 1) {
    const start = index * columns;
    for (let at = 0; at < columns; at += 1) sums[at] = (sums[at] ?? 0) + (values[start + at] ?? 0);
    if (index % ROWS_PER_STEP === 0) yield 0;
  }
  return sums.map((sum) => (rows === 0 ? 0 : sum / rows));
}

/** The sum of the squared distances from the mean. */
function* spreadOf({ values, rows, columns }: Matrix, mean: Float64Array): Generator<number, number> {
  let sum = 0;
  for (let index = 0; index < rows; index += 1) {
    const start = index * columns;
    for (let at = 0; at < columns; at += 1) sum += ((values[start + at] ?? 0) - (mean[at] ?? 0)) ** 2;
    if (index % ROWS_PER_STEP === 0) yield 0;
  }
  return sum;
}

type Directions = readonly Float64Array[];

/** For each direction v: the sum of (x · v) x over all rows x, without the mean. */
function* multiply(
  { values, rows, columns }: Matrix,
  mean: Float64Array,
  basis: Directions,
  done: number,
): Generator<number, Directions> {
  const images = basis.map(() => new Float64Array(columns));
  const row = new Float64Array(columns);
  for (let index = 0; index < rows; index += 1) {
    for (let at = 0; at < columns; at += 1) row[at] = (values[index * columns + at] ?? 0) - (mean[at] ?? 0);
    for (const [direction, image] of images.entries()) addMultiple(image, row, dot(row, basis[direction] ?? row));
    if (index % ROWS_PER_STEP === 0) yield done + index / rows / ROUNDS_MAX;
  }
  return images;
}

interface Rotated {
  readonly images: Directions;
  /** Largest first. */
  readonly variances: readonly number[];
}

/** Rotates the directions within their space to the principal ones (Rayleigh–Ritz). */
function rotate(basis: Directions, images: Directions): Rotated {
  const small = basis.map((direction) => images.map((image) => dot(direction, image)));
  const { values, vectors } = eigenOfSymmetric(small);
  const order = values.map((_value, at) => at).toSorted((one, other) => (values[other] ?? 0) - (values[one] ?? 0));
  return {
    images: order.map((at) =>
      combine(
        images,
        vectors.map((line) => line[at] ?? 0),
      ),
    ),
    variances: order.map((at) => values[at] ?? 0),
  };
}

function combine(directions: Directions, weights: readonly number[]): Float64Array {
  const sum = new Float64Array(directions[0]?.length ?? 0);
  for (const [at, direction] of directions.entries()) addMultiple(sum, direction, weights[at] ?? 0);
  return sum;
}

const SWEEPS_MAX = 50;

/** Jacobi's method, for small matrices. The columns of `vectors` are the eigenvectors. */
function eigenOfSymmetric(matrix: readonly (readonly number[])[]): {
  readonly values: readonly number[];
  readonly vectors: readonly (readonly number[])[];
} {
  const size = matrix.length;
  const a = matrix.map((line) => [...line]);
  const v = matrix.map((line, row) => line.map((_value, column) => (row === column ? 1 : 0)));
  for (let sweep = 0; sweep < SWEEPS_MAX; sweep += 1) {
    for (let p = 0; p < size; p += 1) for (let q = p + 1; q < size; q += 1) annihilate(a, v, p, q);
  }
  return { values: a.map((line, at) => line[at] ?? 0), vectors: v };
}

/** One rotation that zeroes the entry in row `p` and column `q`. */
function annihilate(a: number[][], v: number[][], p: number, q: number): void {
  const off = a[p]?.[q] ?? 0;
  if (off === 0) return;
  const theta = ((a[q]?.[q] ?? 0) - (a[p]?.[p] ?? 0)) / (2 * off);
  const t = (theta >= 0 ? 1 : -1) / (Math.abs(theta) + Math.hypot(theta, 1));
  const c = 1 / Math.hypot(t, 1);
  const s = t * c;
  for (const line of [...a, ...v]) turnPair(line, p, q, { c, s });
  const [upper, lower] = [a[p] ?? [], a[q] ?? []];
  for (const at of a.keys()) {
    const [one, other] = [upper[at] ?? 0, lower[at] ?? 0];
    upper[at] = c * one - s * other;
    lower[at] = s * one + c * other;
  }
}

function turnPair(line: number[], p: number, q: number, { c, s }: { readonly c: number; readonly s: number }): void {
  const [one, other] = [line[p] ?? 0, line[q] ?? 0];
  line[p] = c * one - s * other;
  line[q] = s * one + c * other;
}

/** Gram–Schmidt, twice for precision; linearly dependent directions become zero. */
function orthonormal(directions: Directions): Directions {
  const done: Float64Array[] = [];
  for (const direction of directions) {
    const rest = Float64Array.from(direction);
    for (const each of [...done, ...done]) addMultiple(rest, each, -dot(rest, each));
    const length = Math.sqrt(dot(rest, rest));
    const isDependent = length <= 1e-9 * Math.sqrt(dot(direction, direction)) || length === 0;
    done.push(isDependent ? new Float64Array(rest.length) : rest.map((value) => value / length));
  }
  return done;
}

/** Fixed pseudo-random directions. */
function startOf(count: number, columns: number): Directions {
  let state = 1;
  return Array.from({ length: count }, () =>
    Float64Array.from({ length: columns }, () => {
      state = (state * 48_271) % 2_147_483_647;
      return state / 2_147_483_647 - 0.5;
    }),
  );
}

/** The sign is arbitrary, so the entry with the largest magnitude is made positive. */
function withFixedSign(axis: Float64Array): Float64Array {
  const farthest = axis.reduce((best, value) => (Math.abs(value) > Math.abs(best) ? value : best), 0);
  return farthest < 0 ? axis.map((value) => -value) : axis;
}

function dot(one: Float64Array, other: Float64Array): number {
  let sum = 0;
  for (let at = 0; at < one.length; at += 1) sum += (one[at] ?? 0) * (other[at] ?? 0);
  return sum;
}

function addMultiple(target: Float64Array, added: Float64Array, factor: number): void {
  // oxlint-disable-next-line no-param-reassign -- The target is a sum that grows.
  for (let at = 0; at < target.length; at += 1) target[at] = (target[at] ?? 0) + factor * (added[at] ?? 0);
}
