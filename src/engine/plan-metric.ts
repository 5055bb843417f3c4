import type { Metric } from '../model/plan.ts';

/** Reads a figure as the engine prints it for people; `undefined` when it is none. What was rounded stays rounded. */
export function parseMetric(name: string, text: string): Metric | undefined {
  const [, digits, gap, unit] = /^(\d+(?:\.\d+)?)( ?)([a-zA-Zµμ]*)$/.exec(text) ?? [];
  if (digits === undefined || gap === undefined || unit === undefined) return undefined;
  const number = Number(digits);
  const nanoseconds = gap === '' ? NANOSECONDS[unit] : undefined;
  if (nanoseconds !== undefined) return { value: Math.round(number * nanoseconds), unit: 'nanoseconds', text };
  // `1.00 B` with two decimals is a billion of something; sizes have one.
  const bytes = gap === ' ' && !(unit === 'B' && /\.\d\d$/.test(digits)) ? BYTES[unit] : undefined;
  if (bytes !== undefined) return { value: Math.round(number * bytes), unit: 'bytes', text };
  const count = COUNTS[gap + unit];
  if (count === undefined) return undefined;
  return { value: Math.round(number * count), unit: countsBytes(name) ? 'bytes' : 'count', text };
}

const NANOSECONDS: Readonly<Record<string, number>> = { ns: 1, µs: 1e3, μs: 1e3, ms: 1e6, s: 1e9 };
const BYTES: Readonly<Record<string, number>> = { B: 1, KB: 2 ** 10, MB: 2 ** 20, GB: 2 ** 30, TB: 2 ** 40 };
const COUNTS: Readonly<Record<string, number>> = { '': 1, ' K': 1e3, ' M': 1e6, ' B': 1e9, ' T': 1e12 };

function countsBytes(name: string): boolean {
  return name.startsWith('bytes_') || name.endsWith('_bytes');
}
