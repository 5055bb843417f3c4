import { formatCount } from '../../plans/format-figure.ts';

/** `1 row`, `2 000 rows`. */
export function countOf(count: number, noun: string, plural: string = `${noun}s`): string {
  return `${formatCount(count)} ${count === 1 ? noun : plural}`;
}

/** `1 row is`, `2 000 rows are`. */
export function countIs(count: number, noun: string): string {
  return `${countOf(count, noun)} ${count === 1 ? 'is' : 'are'}`;
}

/** A moment as people read it, in the time of the world. */
export function formatMoment(milliseconds: number): string {
  return `${new Date(milliseconds).toISOString().slice(0, 19).replace('T', ' ')}Z`;
}
