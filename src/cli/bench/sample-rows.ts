import { columnsToStream } from '../../formats/columns-to-stream.ts';

export const SAMPLE_DIMENSIONS = 128;
const WORDS = ['amber', 'birch', 'cobalt', 'dune', 'ember', 'fern', 'garnet', 'heath'];

/** Rows of the sample table, the same ones in every run: a number, a text, a price and a vector. */
export function sampleRows(first: number, count: number): Uint8Array {
  const ids = Array.from({ length: count }, (_unused, index) => first + index);
  return columnsToStream([
    { name: 'id', type: 'int64', values: ids.map((id) => BigInt(id)) },
    { name: 'title', type: 'utf8', values: ids.map((id) => `${WORDS[id % 8]} ${WORDS[(id >> 3) % 8]} number ${id}`) },
    { name: 'price', type: 'float64', values: ids.map((id) => ((id * 37) % 1000) / 4) },
    { name: 'vector', type: `float32[${SAMPLE_DIMENSIONS}]`, values: ids.map(sampleVector) },
  ]);
}

/** Numbers from -1 to 1 that look random and depend on the row alone. */
export function sampleVector(row: number): number[] {
  let state = (row * 2_654_435_761 + 1) >>> 0;
  return Array.from({ length: SAMPLE_DIMENSIONS }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 31 - 1;
  });
}
