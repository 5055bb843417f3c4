export interface Reading {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Parses the Prometheus text format; skips comments and malformed lines. */
export function parseMetricsText(text: string): readonly Reading[] {
  return text.split('\n').flatMap((line) => {
    const [, name, labels = '', figure = ''] = /^([A-Za-z_:][\w:]*)(?:\{(.*)\})? (\S+)/.exec(line) ?? [];
    const value = figure === '+Inf' ? Number.POSITIVE_INFINITY : Number(figure);
    return name === undefined || Number.isNaN(value) ? [] : [{ name, labels: parseLabels(labels), value }];
  });
}

function parseLabels(text: string): Readonly<Record<string, string>> {
  const pairs = [...text.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)];
  return Object.fromEntries(pairs.map(([, name = '', value = '']) => [name, value.replaceAll(/\\(.)/g, '$1')]));
}

export type Labels = Readonly<Record<string, string | RegExp>>;

/** The sum over all matching labels. */
export function sumOf(readings: readonly Reading[], name: string, labels: Labels = {}): number {
  return readings
    .filter((each) => each.name === name && fits(each.labels, labels))
    .reduce((sum, { value }) => sum + value, 0);
}

function fits(given: Readonly<Record<string, string>>, wanted: Labels): boolean {
  return Object.entries(wanted).every(([name, value]) => {
    const text = given[name] ?? '';
    return typeof value === 'string' ? text === value : value.test(text);
  });
}

/** A quantile of the values counted between two samples, interpolated linearly within its bucket. */
export function quantileBetween(
  earlier: readonly Reading[],
  later: readonly Reading[],
  histogram: string,
  part: number,
): number | undefined {
  const before = bucketsOf(earlier, histogram);
  const counts = [...bucketsOf(later, histogram)]
    .map(([bound, count]) => ({ bound, count: count - (before.get(bound) ?? 0) }))
    .toSorted((one, other) => one.bound - other.bound);
  const all = counts.at(-1)?.count ?? 0;
  if (all <= 0) return undefined;
  const wanted = all * part;
  const at = counts.findIndex(({ count }) => count >= wanted);
  const [low, high] = [counts[at - 1] ?? { bound: 0, count: 0 }, counts[at]];
  if (high === undefined || !Number.isFinite(high.bound)) return low.bound;
  return low.bound + ((high.bound - low.bound) * (wanted - low.count)) / Math.max(1, high.count - low.count);
}

/** Cumulative counts by bound, over all labels. */
function bucketsOf(readings: readonly Reading[], histogram: string): ReadonlyMap<number, number> {
  const buckets = new Map<number, number>();
  for (const { name, labels, value } of readings) {
    if (name !== `${histogram}_bucket`) continue;
    const bound = labels['le'] === '+Inf' ? Number.POSITIVE_INFINITY : Number(labels['le']);
    buckets.set(bound, (buckets.get(bound) ?? 0) + value);
  }
  return buckets;
}
