/** How several vectors of a row are reduced to one point. */
export type Pooling = 'mean' | 'first';

export function toPooling(text: string): Pooling {
  return text === 'first' ? 'first' : 'mean';
}

/** `undefined` if there are no vectors, or vectors of different lengths. */
export function poolVectors(vectors: readonly ArrayLike<number>[], pooling: Pooling): Float32Array | undefined {
  const [first] = vectors;
  if (first === undefined || vectors.some(({ length }) => length !== first.length)) return undefined;
  if (pooling === 'first') return Float32Array.from(first);
  const mean = new Float32Array(first.length);
  for (const vector of vectors) {
    for (let at = 0; at < mean.length; at += 1) mean[at] = (mean[at] ?? 0) + (vector[at] ?? 0) / vectors.length;
  }
  return mean;
}
