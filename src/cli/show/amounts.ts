export function formatCount(count: number): string {
  return count.toLocaleString('en-US');
}

/** `1 row`, `2,000 rows`. */
export function countOf(count: number, noun: string, plural: string = `${noun}s`): string {
  return `${formatCount(count)} ${count === 1 ? noun : plural}`;
}

const BYTE_UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'] as const;

export function formatBytes(bytes: number): string {
  let unit = 0;
  let amount = bytes;
  while (amount >= 1024 && unit < BYTE_UNITS.length - 1) {
    amount /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? amount : threeDigits(amount)} ${BYTE_UNITS[unit]}`;
}

const TIME_UNITS = [
  ['ns', 1000],
  ['µs', 1000],
  ['ms', 1000],
  ['s', 60],
] as const;

export function formatNanoseconds(nanoseconds: number): string {
  let amount = nanoseconds;
  for (const [unit, next] of TIME_UNITS) {
    if (amount < next || unit === 's') return `${threeDigits(amount)} ${unit}`;
    amount /= next;
  }
  return '';
}

export function formatMilliseconds(milliseconds: number): string {
  return formatNanoseconds(milliseconds * 1_000_000);
}

function threeDigits(amount: number): string {
  if (amount >= 100 || Number.isInteger(amount)) return String(Math.round(amount));
  return amount.toFixed(amount >= 10 ? 1 : 2);
}

/** A moment as people read it, in the time of the world. */
export function formatMoment(milliseconds: number): string {
  return `${new Date(milliseconds).toISOString().slice(0, 19).replace('T', ' ')}Z`;
}
