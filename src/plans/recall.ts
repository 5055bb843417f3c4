/**
 * Which part of the rows of an exact search another search found, from 0 to 1. `undefined` when the exact search found
 * nothing, of which there is no part. The same id twice counts once.
 */
export function recallOf(found: readonly RowId[], exact: readonly RowId[]): number | undefined {
  const [have, want] = [new Set(found.map(String)), new Set(exact.map(String))];
  if (want.size === 0) return undefined;
  return [...want].filter((id) => have.has(id)).length / want.size;
}

/** Row ids are whole numbers of 64 bits: a text where they do not fit a number. */
export type RowId = string | number | bigint;
