import { sortInTurns, visitInTurns } from '../row-turns.ts';

/** A row of one search; its rank is its position. */
export interface RankedRow {
  readonly id: bigint;
  /** A distance or a score. */
  readonly value: number;
}

export interface FusedRow {
  readonly id: bigint;
  /** `undefined` when the vector search did not find the row. */
  readonly distance: number | undefined;
  /** `undefined` when the full-text search did not find the row. */
  readonly score: number | undefined;
  readonly relevance: number;
}

/** The constant of reciprocal rank fusion that the engine and its clients use. */
export const FUSION_CONSTANT = 60;

/**
 * Reciprocal rank fusion with the engine's 32-bit arithmetic. Rows of equal relevance keep their order, those of the
 * vector search first. Above 20 rows, the engine leaves that order undefined.
 */
export async function fuseByRank(
  vector: readonly RankedRow[],
  text: readonly RankedRow[],
): Promise<readonly FusedRow[]> {
  const rows: FusedRow[] = [];
  const places = new Map<bigint, number>();
  const add = (id: bigint, toRow: (found: FusedRow | undefined) => FusedRow): void => {
    const place = places.get(id) ?? rows.length;
    rows[place] = toRow(rows[place]);
    places.set(id, place);
  };
  await visitInTurns(vector, ({ id, value }, rank) => {
    add(id, (found) => {
      return { id, distance: found?.distance ?? value, score: undefined, relevance: addShare(found, rank) };
    });
  });
  await visitInTurns(text, ({ id, value }, rank) => {
    add(id, (found) => {
      return { id, distance: found?.distance, score: found?.score ?? value, relevance: addShare(found, rank) };
    });
  });
  return sortInTurns(rows, (left, right) => right.relevance - left.relevance);
}

function addShare(found: FusedRow | undefined, rank: number): number {
  return Math.fround((found?.relevance ?? 0) + Math.fround(1 / Math.fround(rank + FUSION_CONSTANT)));
}
