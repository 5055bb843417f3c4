import { formatTime } from '../../../src/plans/format-figure.ts';

export { formatBytes } from '../../../src/plans/format-figure.ts';

const COUNTS = new Intl.NumberFormat('en');
const MOMENTS = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
const AGO = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });

export function formatCount(count: number | bigint): string {
  return COUNTS.format(count);
}

/** `1 row`, `2 rows`; irregular plurals are passed in. */
export function formatCountOf(count: number, one: string, many = `${one}s`): string {
  return `${formatCount(count)} ${count === 1 ? one : many}`;
}

export function formatMilliseconds(milliseconds: number): string {
  return formatTime(milliseconds * 1e6);
}

export function formatMoment(milliseconds: number): string {
  return MOMENTS.format(milliseconds);
}

const STEPS: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
];

const DAYS_MAX = 30;

/** `3 minutes ago`, or a date. */
export function formatAgo(milliseconds: number, now = Date.now()): string {
  const past = now - milliseconds;
  if (past > DAYS_MAX * 86_400_000) return new Date(milliseconds).toISOString().slice(0, 10);
  const [unit, step] = STEPS.find(([, length]) => past >= length) ?? [];
  return unit === undefined || step === undefined ? 'just now' : AGO.format(-Math.floor(past / step), unit);
}
