import { TimeUnit } from 'apache-arrow';

/** ISO 8601 and counts of a unit since 1970, without loss: nanoseconds do not fit a number. */
const MOMENT =
  /^([+-]\d{4,6}|\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?)?\s?(Z|[+-]\d\d(?::?\d\d)?)?$/i;
const DAY = /^([+-]\d{4,6}|\d{4})-(\d\d)-(\d\d)$/;
const CLOCK = /^(\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?$/;
const SECONDS_PER_DAY = 86_400;

export function parseDay(text: string): number | undefined {
  const match = DAY.exec(text);
  return match === null ? undefined : daysOf(match[1], match[2], match[3]);
}

export function formatDay(days: number): string {
  const text = new Date(days * SECONDS_PER_DAY * 1000).toISOString();
  return text.slice(0, text.indexOf('T'));
}

export interface Moment {
  readonly seconds: bigint;
  readonly nanoseconds: bigint;
  readonly fractionDigits: number;
  readonly hasZone: boolean;
  readonly hasTime: boolean;
}

export function parseMoment(text: string): Moment | undefined {
  const match = MOMENT.exec(text);
  if (match === null) return undefined;
  const days = daysOf(match[1], match[2], match[3]);
  const clock = clockSeconds(match[4] ?? '00', match[5] ?? '00', match[6] ?? '00');
  const offset = offsetSeconds(match[8]);
  if (days === undefined || clock === undefined || offset === undefined) return undefined;
  return {
    seconds: BigInt(days) * BigInt(SECONDS_PER_DAY) + BigInt(clock - offset),
    nanoseconds: BigInt((match[7] ?? '').padEnd(9, '0')),
    fractionDigits: match[7]?.length ?? 0,
    hasZone: match[8] !== undefined,
    hasTime: match[4] !== undefined,
  };
}

/** `undefined` when digits would be lost. */
export function toUnits(seconds: bigint, nanoseconds: bigint, unit: TimeUnit): bigint | undefined {
  const perSecond = UNITS_PER_SECOND[unit];
  const nanosecondsPerUnit = 1_000_000_000n / perSecond;
  if (nanoseconds % nanosecondsPerUnit !== 0n) return undefined;
  return seconds * perSecond + nanoseconds / nanosecondsPerUnit;
}

export function formatMoment(count: bigint, unit: TimeUnit, hasZone: boolean): string {
  const perSecond = UNITS_PER_SECOND[unit];
  const seconds = floorDivide(count, perSecond);
  const whole = new Date(Number(seconds) * 1000);
  if (Number.isNaN(whole.getTime())) return String(count);
  return `${whole.toISOString().slice(0, -'.000Z'.length)}${fractionText(count - seconds * perSecond, unit)}${hasZone ? 'Z' : ''}`;
}

export function parseClock(text: string, unit: TimeUnit): bigint | undefined {
  const match = CLOCK.exec(text);
  const seconds = match === null ? undefined : clockSeconds(match[1] ?? '', match[2] ?? '', match[3] ?? '00');
  if (seconds === undefined) return undefined;
  return toUnits(BigInt(seconds), BigInt((match?.[4] ?? '').padEnd(9, '0')), unit);
}

export function formatClock(count: bigint, unit: TimeUnit): string {
  const perSecond = UNITS_PER_SECOND[unit];
  const seconds = Number(count / perSecond);
  const parts = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  return `${parts.map((part) => String(part).padStart(2, '0')).join(':')}${fractionText(count % perSecond, unit)}`;
}

const UNITS_PER_SECOND: Readonly<Record<TimeUnit, bigint>> = {
  [TimeUnit.SECOND]: 1n,
  [TimeUnit.MILLISECOND]: 1000n,
  [TimeUnit.MICROSECOND]: 1_000_000n,
  [TimeUnit.NANOSECOND]: 1_000_000_000n,
};

function fractionText(fraction: bigint, unit: TimeUnit): string {
  return unit === TimeUnit.SECOND ? '' : `.${String(fraction).padStart(unit * 3, '0')}`;
}

function floorDivide(value: bigint, by: bigint): bigint {
  const quotient = value / by;
  return value % by < 0n ? quotient - 1n : quotient;
}

function daysOf(yearText = '', monthText = '', dayText = ''): number | undefined {
  const [year, month, day] = [Number(yearText), Number(monthText), Number(dayText)];
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return undefined;
  return Math.round(date.getTime() / (SECONDS_PER_DAY * 1000));
}

function clockSeconds(hours: string, minutes: string, seconds: string): number | undefined {
  const [h, m, s] = [Number(hours), Number(minutes), Number(seconds)];
  return h < 24 && m < 60 && s < 60 ? h * 3600 + m * 60 + s : undefined;
}

function offsetSeconds(zone: string | undefined): number | undefined {
  if (zone === undefined || zone.toUpperCase() === 'Z') return 0;
  const hours = Number(zone.slice(1, 3));
  const minutes = Number(zone.slice(3).replace(':', '') || '0');
  if (hours > 23 || minutes > 59) return undefined;
  return (zone.startsWith('-') ? -1 : 1) * (hours * 3600 + minutes * 60);
}
