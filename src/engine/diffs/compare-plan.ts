import type { FragmentRows } from '../../storage/storage.ts';

/** Rows of a version by their position in a scan. */
export interface RowRange {
  readonly start: number;
  readonly count: number;
}

/** Consecutive fragments of two versions that have the same files but different deleted rows. */
export interface AlignedRun {
  readonly from: RowRange;
  readonly to: RowRange;
  /** Pairs of ids, in scan order. */
  readonly fragments: readonly { readonly from: number; readonly to: number }[];
}

/** What to read to compare two versions: rows in neither list are the same in both. */
export interface ComparePlan {
  readonly from: readonly RowRange[];
  readonly to: readonly RowRange[];
  readonly aligned: readonly AlignedRun[];
}

/** Skips fragments that both versions have unchanged. */
export function planComparison(from: readonly FragmentRows[], to: readonly FragmentRows[]): ComparePlan {
  const [placedFrom, placedTo] = [place(from), place(to)];
  const [byFilesFrom, byFilesTo] = [indexByFiles(placedFrom), indexByFiles(placedTo)];
  const isShared = ({ files }: FragmentRows): boolean => byFilesFrom.has(files) && byFilesTo.has(files);
  const aligned: AlignedRun[] = [];
  for (const one of placedFrom) {
    const other = isShared(one) ? byFilesTo.get(one.files) : undefined;
    if (other !== undefined && one.deletions !== other.deletions) addPair(aligned, one, other);
  }
  return {
    from: joinRanges(placedFrom.filter((fragment) => !isShared(fragment))),
    to: joinRanges(placedTo.filter((fragment) => !isShared(fragment))),
    aligned,
  };
}

interface PlacedFragment extends FragmentRows {
  readonly start: number;
}

function place(fragments: readonly FragmentRows[]): readonly PlacedFragment[] {
  let start = 0;
  return fragments.map((fragment) => {
    const placed = { ...fragment, start };
    start += fragment.rows;
    return placed;
  });
}

/** Omits files that several fragments of one version share: their rows cannot be distinguished by position. */
function indexByFiles(fragments: readonly PlacedFragment[]): ReadonlyMap<string, PlacedFragment> {
  const found = new Map<string, PlacedFragment>();
  const repeated = new Set<string>();
  for (const fragment of fragments) {
    if (found.has(fragment.files)) repeated.add(fragment.files);
    found.set(fragment.files, fragment);
  }
  for (const files of repeated) found.delete(files);
  return found;
}

function addPair(runs: AlignedRun[], one: PlacedFragment, other: PlacedFragment): void {
  const pair = { from: one.id, to: other.id };
  const last = runs.at(-1);
  if (last !== undefined && isNext(last.from, one) && isNext(last.to, other)) {
    const from = { start: last.from.start, count: last.from.count + one.rows };
    const to = { start: last.to.start, count: last.to.count + other.rows };
    runs[runs.length - 1] = { from, to, fragments: [...last.fragments, pair] };
    return;
  }
  const from = { start: one.start, count: one.rows };
  runs.push({ from, to: { start: other.start, count: other.rows }, fragments: [pair] });
}

function isNext({ start, count }: RowRange, fragment: PlacedFragment): boolean {
  return start + count === fragment.start;
}

function joinRanges(fragments: readonly PlacedFragment[]): readonly RowRange[] {
  const ranges: RowRange[] = [];
  for (const fragment of fragments) {
    const last = ranges.at(-1);
    if (last !== undefined && isNext(last, fragment)) {
      ranges[ranges.length - 1] = { start: last.start, count: last.count + fragment.rows };
    } else ranges.push({ start: fragment.start, count: fragment.rows });
  }
  return ranges;
}
