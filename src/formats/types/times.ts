import type { TimeUnit } from 'apache-arrow';

/** Lossless conversion between ISO 8601 and counts of a unit since 1970: nanoseconds do not fit into a number. */
const TIMESTAMP =
  /^([+-]\d{4,6}|\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?)?\s?(Z|[+-]\d\d(?::?\d\d)?)?$/i;
const DATE = /^([+-]\d{4,6}|\d{4})-(\d\d)-(\d\d)$/;
const TIME = /^(\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?$/;
export const SECONDS_PER_DAY = 86_400;
export const MILLISECONDS_PER_DAY = SECONDS_PER_DAY * 1000;

/** Days since 1970. */
export function parseDate(text: string): number | undefined {
  const match = DATE.exec(text);
  return match === null ? undefined : daysOf(match[1], match[2], match[3]);
}

export function parseTimestamp(text: string) {
  const match = TIMESTAMP.exec(text);
  if (match === null) return undefined;
  const [, year, month, day, hours, minutes, seconds, fraction = '', zone] = match;
  const days = daysOf(year, month, day);
  const time = secondsOf(hours, minutes, seconds);
  const offset = offsetSeconds(zone);
  if (days === undefined || time === undefined || offset === undefined) return undefined;
  return {
    seconds: BigInt(days * SECONDS_PER_DAY + time - offset),
    nanoseconds: BigInt(fraction.padEnd(9, '0')),
    fractionDigits: fraction.length,
    hasZone: zone !== undefined,
    hasTime: hours !== undefined,
  };
}

export function parseTime(text: string, unit: TimeUnit): bigint | undefined {
  const match = TIME.exec(text);
  if (match === null) return undefined;
  const seconds = secondsOf(match[1], match[2], match[3]);
  return seconds === undefined ? undefined : toUnits(BigInt(seconds), BigInt((match[4] ?? '').padEnd(9, '0')), unit);
}

/** `undefined` if digits would be lost. */
export function toUnits(seconds: bigint, nanoseconds: bigint, unit: TimeUnit): bigint | undefined {
  const perSecond = 10n ** BigInt(fractionDigitsOf(unit));
  const nanosecondsPerUnit = 1_000_000_000n / perSecond;
  if (nanoseconds % nanosecondsPerUnit !== 0n) return undefined;
  return seconds * perSecond + nanoseconds / nanosecondsPerUnit;
}

/** Units are numbered from 0 (seconds) to 3 (nanoseconds). */
export function fractionDigitsOf(unit: TimeUnit): number {
  return unit * 3;
}

function daysOf(yearText = '', monthText = '', dayText = ''): number | undefined {
  const [year, month, day] = [Number(yearText), Number(monthText), Number(dayText)];
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return undefined;
  return Math.round(date.getTime() / MILLISECONDS_PER_DAY);
}

function secondsOf(hoursText = '00', minutesText = '00', secondsText = '00'): number | undefined {
  const [hours, minutes, seconds] = [Number(hoursText), Number(minutesText), Number(secondsText)];
  return hours < 24 && minutes < 60 && seconds < 60 ? hours * 3600 + minutes * 60 + seconds : undefined;
}

function offsetSeconds(zone: string | undefined): number | undefined {
  if (zone === undefined || zone.toUpperCase() === 'Z') return 0;
  const hours = Number(zone.slice(1, 3));
  const minutes = Number(zone.slice(3).replace(':', '') || '0');
  if (hours > 23 || minutes > 59) return undefined;
  return (zone.startsWith('-') ? -1 : 1) * (hours * 3600 + minutes * 60);
}
