import type { TimeUnit } from '../model/schema.ts';

const DIGITS: Readonly<Record<TimeUnit, number>> = { s: 0, ms: 3, us: 6, ns: 9 };
const MILLISECONDS_PER_DAY = 86_400_000;

/** `"2024-01-31"`. */
export function formatDay(days: number): string {
  const date = new Date(days * MILLISECONDS_PER_DAY);
  return isWritable(date) ? `"${date.toISOString().replace(/T.*$/, '')}"` : String(days);
}

/** `"2024-01-31T10:00:00.000001Z"`; without a zone, when the column has none, also here. */
export function formatMoment(ticks: bigint, unit: TimeUnit, isInstant: boolean): string {
  const { seconds, fraction } = split(ticks, unit);
  const date = new Date(Number(seconds) * 1000);
  if (!isWritable(date)) return String(ticks);
  return `"${date.toISOString().slice(0, -5)}${fraction}${isInstant ? 'Z' : ''}"`;
}

/** `"10:00:00.000001"`. */
export function formatClock(ticks: bigint, unit: TimeUnit): string {
  const { seconds, fraction } = split(ticks, unit);
  const isInDay = seconds >= 0n && seconds < 86_400n;
  return isInDay ? `"${new Date(Number(seconds) * 1000).toISOString().slice(11, 19)}${fraction}"` : String(ticks);
}

/** Beyond the years that a date can have, the count itself is written. */
function isWritable(date: Date): boolean {
  return !Number.isNaN(date.getTime());
}

function split(ticks: bigint, unit: TimeUnit): { readonly seconds: bigint; readonly fraction: string } {
  const digits = DIGITS[unit];
  const perSecond = 10n ** BigInt(digits);
  const rest = ((ticks % perSecond) + perSecond) % perSecond;
  const fraction = digits === 0 ? '' : `.${String(rest).padStart(digits, '0')}`;
  return { seconds: (ticks - rest) / perSecond, fraction };
}
