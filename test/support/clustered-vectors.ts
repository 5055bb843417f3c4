import { Field, FixedSizeList, Float32, Table, makeData, makeVector, tableToIPC } from 'apache-arrow';

export interface ClusteredVectors {
  readonly rows: number;
  readonly dimension: number;
  readonly clusters: number;
}

/**
 * Vectors in clusters whose members are nearly equally far from each other, as embeddings of similar items are: the
 * hardest case for an index that rounds. With `id`, and `bucket` from 0 to 999 at random.
 */
export function clusteredStream({ rows, dimension, clusters }: ClusteredVectors, seed = 7): Uint8Array {
  const { random, vectorNear } = clusteredSource({ dimension, clusters }, seed);
  const values = new Float32Array(rows * dimension);
  const buckets = new Int32Array(rows);
  for (let row = 0; row < rows; row += 1) {
    values.set(vectorNear(Math.floor(random() * clusters)), row * dimension);
    buckets[row] = Math.floor(random() * 1000);
  }
  const child = makeData({ type: new Float32(), data: values, length: values.length });
  const type = new FixedSizeList(dimension, new Field('item', new Float32(), true));
  const table = new Table({
    id: makeVector(Int32Array.from({ length: rows }, (_unused, row) => row)),
    bucket: makeVector(buckets),
    vec: makeVector(makeData({ type, length: rows, nullCount: 0, child })),
  });
  return tableToIPC(table, 'stream');
}

/** Vectors of the same clusters that are in no row. */
export function clusteredQueries(shape: ClusteredVectors, count: number, seed = 7): readonly (readonly number[])[] {
  const { vectorNear, random } = clusteredSource(shape, seed);
  // Past the values that the rows have used, if the table is small; new ones in any case.
  for (let skipped = 0; skipped < 1000; skipped += 1) random();
  return Array.from({ length: count }, (_unused, at) => [...vectorNear((at * 31) % shape.clusters)]);
}

function clusteredSource({ dimension, clusters }: Pick<ClusteredVectors, 'dimension' | 'clusters'>, seed: number) {
  let state = seed >>> 0;
  const random = (): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
  const normal = (): number => Math.sqrt(-2 * Math.log(random() + 1e-12)) * Math.cos(2 * Math.PI * random());
  const centres = Array.from({ length: clusters }, () =>
    Float32Array.from({ length: dimension }, () => random() * 2 - 1),
  );
  const vectorNear = (cluster: number): Float32Array =>
    Float32Array.from(centres[cluster] ?? [], (value) => value + 0.1 * normal());
  return { random, vectorNear };
}
