import { formatCount } from '../parts/format.ts';

export type ColourValue = string | number | null;

interface LegendItem {
  readonly label: string;
  readonly colour: string;
  readonly count: number;
}

export type Legend =
  | { readonly kind: 'categories'; readonly items: readonly LegendItem[] }
  | { readonly kind: 'range'; readonly low: string; readonly high: string; readonly colours: readonly string[] };

export interface Colouring {
  /** One per point. */
  readonly colours: readonly string[];
  readonly legend: Legend | undefined;
}

/** Visible on a light and a dark background. */
const CATEGORIES = ['#2f6fb3', '#d9731a', '#2e8b57', '#c23b4f', '#8a5fc2', '#8c6239', '#c2589c', '#0f97a5', '#7d8a1f'];
const REST = '#8b95a1';
const RANGE = ['#3d4fb8', '#8a3fb0', '#c9427f', '#e4694a', '#e8a33d'];
export const PLAIN_COLOUR = '#3b7ddd';

/** Numbers get a scale, unless there are only a few different ones; texts get a color for each of the most frequent. */
export function toColouring(values: readonly ColourValue[], isColoured: boolean): Colouring {
  if (!isColoured) return { colours: values.map(() => PLAIN_COLOUR), legend: undefined };
  const numbers = values.filter((value) => typeof value === 'number');
  const isRange = numbers.length > 0 && new Set(numbers).size > CATEGORIES.length;
  return isRange && values.every((value) => typeof value !== 'string')
    ? toRange(values, numbers)
    : toCategories(values);
}

function toCategories(values: readonly ColourValue[]): Colouring {
  const counts = new Map<string, number>();
  for (const value of values) counts.set(labelOf(value), (counts.get(labelOf(value)) ?? 0) + 1);
  const named = [...counts]
    .filter(([label]) => label !== NULL_LABEL)
    .toSorted(([one, count], [other, otherCount]) => otherCount - count || one.localeCompare(other));
  const isWhole = named.length <= CATEGORIES.length;
  const shown = named.slice(0, isWhole ? CATEGORIES.length : CATEGORIES.length - 1);
  const items = shown.map(([label, count], at) => ({ label, count, colour: CATEGORIES[at] ?? REST }));
  const rest = values.length - items.reduce((sum, { count }) => sum + count, 0);
  const restLabel = isWhole ? NULL_LABEL : 'other';
  const colourOf = new Map(items.map(({ label, colour }) => [label, colour]));
  return {
    colours: values.map((value) => colourOf.get(labelOf(value)) ?? REST),
    legend: {
      kind: 'categories',
      items: rest === 0 ? items : [...items, { label: restLabel, colour: REST, count: rest }],
    },
  };
}

const NULL_LABEL = 'null';
const LABEL_CHARACTERS_MAX = 40;

function labelOf(value: ColourValue): string {
  const text = value === null ? NULL_LABEL : String(value);
  return text.length > LABEL_CHARACTERS_MAX ? `${text.slice(0, LABEL_CHARACTERS_MAX)}…` : text;
}

/** Between the first and the last percentile: otherwise a few outliers would leave one color for all others. */
function toRange(values: readonly ColourValue[], numbers: readonly number[]): Colouring {
  const sorted = numbers.toSorted((one, other) => one - other);
  const at = (share: number): number => sorted[Math.round(share * (sorted.length - 1))] ?? 0;
  const [low, high] = [at(0.01), at(0.99)];
  const shareOf = (value: number): number => (high === low ? 0 : (value - low) / (high - low));
  return {
    colours: values.map((value) => (typeof value === 'number' ? mixRange(shareOf(value)) : REST)),
    legend: {
      kind: 'range',
      low: `${at(0) < low ? '≤ ' : ''}${formatNumber(low)}`,
      high: `${at(1) > high ? '≥ ' : ''}${formatNumber(high)}`,
      colours: RANGE,
    },
  };
}

function formatNumber(value: number): string {
  return Number.isInteger(value) ? formatCount(value) : String(Number(value.toPrecision(4)));
}

function mixRange(share: number): string {
  const place = Math.min(Math.max(share, 0), 1) * (RANGE.length - 1);
  const [from, to] = [RANGE[Math.floor(place)] ?? REST, RANGE[Math.ceil(place)] ?? REST];
  const part = place - Math.floor(place);
  const mixed = [1, 3, 5].map((start) => {
    const [one, other] = [from, to].map((colour) => Number.parseInt(colour.slice(start, start + 2), 16));
    return Math.round((one ?? 0) + ((other ?? 0) - (one ?? 0)) * part);
  });
  return `rgb(${mixed.join(' ')})`;
}
