import type { HashedRow } from '../../arrow/results/row-hash.ts';
import { HashIndex, NONE } from './hash-index.ts';
import { HeldRows } from './held-rows.ts';

/** Rows are given by id. */
export type RowChange =
  | { readonly change: 'added'; readonly after: bigint }
  | { readonly change: 'removed'; readonly before: bigint }
  | { readonly change: 'changed'; readonly before: bigint; readonly after: bigint };

export interface Changes {
  readonly counts: { readonly added: number; readonly removed: number; readonly changed: number };
  /** The first changes, up to the limit: removed and changed rows in their order, then added ones. */
  readonly first: readonly RowChange[];
  /** Several changed rows of one version have the same key. */
  readonly hasRepeatedKeys: boolean;
}

/**
 * Finds the rows that differ between two versions, by hash. Rows that are equal in both are skipped. Remaining rows
 * with the same key are paired in order, as changed; rows without a partner were added or removed. The result does not
 * depend on where a version stores its rows.
 */
export class RowMatcher {
  readonly #before: HeldRows;
  /** Only rows without an equal row before. */
  readonly #after = new HeldRows(0);
  #unmatched: HashIndex | undefined;

  constructor(rowsBefore: number) {
    this.#before = new HeldRows(rowsBefore);
  }

  /** Call it for all rows before any row after. */
  addBefore(row: HashedRow): void {
    this.#before.add(row);
  }

  addAfter(row: HashedRow): void {
    this.#unmatched ??= indexRows(this.#before);
    const at = this.#after.add(row);
    const equal = this.#unmatched.take(
      (before) => this.#before.isEqual(before, this.#after, at),
      this.#after.hashRow(at),
    );
    if (equal !== NONE) this.#after.removeLast();
  }

  finish(limit: number): Changes {
    const [before, after, unmatched] = [this.#before, this.#after, this.#unmatched];
    const isLeft = (at: number): boolean => unmatched === undefined || unmatched.has(at);
    const { pairs, added, hasRepeatedKeys } = pairByKey(before, after, isLeft);
    const first: RowChange[] = [];
    let [removed, changed] = [0, 0];
    for (let at = 0; at < before.length; at += 1) {
      if (!isLeft(at)) continue;
      const pair = pairs[at] ?? NONE;
      if (pair === NONE) removed += 1;
      else changed += 1;
      if (first.length < limit) first.push(toChange(before.id(at), pair === NONE ? undefined : after.id(pair)));
    }
    const rest = added.slice(0, limit - first.length).map((at) => ({ change: 'added', after: after.id(at) }) as const);
    return { counts: { added: added.length, removed, changed }, first: [...first, ...rest], hasRepeatedKeys };
  }
}

/** Maps each position before to one after. `added` lists the rows after that have no partner. */
function pairByKey(before: HeldRows, after: HeldRows, isLeft: (at: number) => boolean) {
  const keys = indexKeys(before, isLeft);
  const pairs = new Int32Array(before.length).fill(NONE);
  const added: number[] = [];
  for (let at = 0; at < after.length; at += 1) {
    const pair = keys.take((other) => before.hasKeyOf(other, after, at), after.hashKey(at));
    if (pair === NONE) added.push(at);
    else pairs[pair] = at;
  }
  return { pairs, added, hasRepeatedKeys: keys.hasRepeats || indexKeys(after, () => true).hasRepeats };
}

function indexRows(rows: HeldRows): HashIndex {
  const index = new HashIndex(rows.length);
  for (let at = rows.length - 1; at >= 0; at -= 1) {
    index.add(at, (other) => rows.isEqual(other, rows, at), rows.hashRow(at));
  }
  return index;
}

function indexKeys(rows: HeldRows, isLeft: (at: number) => boolean): HashIndex {
  const index = new HashIndex(rows.length);
  for (let at = rows.length - 1; at >= 0; at -= 1) {
    if (isLeft(at)) index.add(at, (other) => rows.hasKeyOf(other, rows, at), rows.hashKey(at));
  }
  return index;
}

function toChange(before: bigint, after: bigint | undefined): RowChange {
  return after === undefined ? { change: 'removed', before } : { change: 'changed', before, after };
}
