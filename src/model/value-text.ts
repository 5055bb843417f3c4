/** Formats numbers in messages, and values without a JSON type, in replies and exported files. */

/** `20,000`, in every locale. */
export function formatCount(count: number): string {
  return String(Math.round(count)).replaceAll(/\B(?=(\d{3})+$)/g, ',');
}

const BYTE_UNITS = [
  ['GiB', 2 ** 30],
  ['MiB', 2 ** 20],
  ['KiB', 2 ** 10],
] as const;

/** An exact limit: `64 MiB` if a unit divides it, otherwise `1,000 bytes`. */
export function formatByteLimit(bytes: number): string {
  const [unit, size] = BYTE_UNITS.find(([, each]) => bytes > 0 && bytes % each === 0) ?? ['bytes', 1];
  return `${formatCount(bytes / size)} ${unit}`;
}

/** `2024-01-31`, or `undefined` beyond the years of `Date`. */
export function formatDate(days: number): string | undefined {
  const date = new Date(days * 86_400_000);
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString().replace(/T.*$/, '');
}

/** `2024-01-31T10:00:00.000001Z`, or `undefined` beyond the years of `Date`. A tick is 10^-`digits` seconds. */
export function formatTimestamp(ticks: bigint, digits: number, hasZone: boolean): string | undefined {
  const { seconds, fraction } = split(ticks, digits);
  const date = new Date(Number(seconds) * 1000);
  if (Number.isNaN(date.getTime())) return undefined;
  return `${date.toISOString().slice(0, -'.000Z'.length)}${fraction}${hasZone ? 'Z' : ''}`;
}

/** `10:00:00.000001`, or `undefined` if not within a day. */
export function formatTime(ticks: bigint, digits: number): string | undefined {
  const { seconds, fraction } = split(ticks, digits);
  if (seconds < 0n || seconds >= 86_400n) return undefined;
  return `${new Date(Number(seconds) * 1000).toISOString().slice(11, 19)}${fraction}`;
}

export function formatDecimal(unscaled: bigint, scale: number): string {
  if (scale <= 0) return String(unscaled * 10n ** BigInt(-scale));
  const sign = unscaled < 0n ? '-' : '';
  const digits = String(unscaled < 0n ? -unscaled : unscaled).padStart(scale + 1, '0');
  return `${sign}${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
}

function split(ticks: bigint, digits: number): { readonly seconds: bigint; readonly fraction: string } {
  const perSecond = 10n ** BigInt(digits);
  const rest = ((ticks % perSecond) + perSecond) % perSecond;
  const fraction = digits === 0 ? '' : `.${String(rest).padStart(digits, '0')}`;
  return { seconds: (ticks - rest) / perSecond, fraction };
}
