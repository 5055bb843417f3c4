import { randomFillSync } from 'node:crypto';

/** Crockford's base 32 in lower case: in ASCII order, without look-alikes, and safe in directory names. */
const DIGITS = '0123456789abcdefghjkmnpqrstvwxyz';
const TIME_DIGITS = 10;
const RANDOM_DIGITS = 16;

/** 48 bits of time and 80 random ones, as 26 digits that sort by time. */
export function createId(nowMilliseconds: number): string {
  let id = '';
  for (let rest = Math.trunc(nowMilliseconds); id.length < TIME_DIGITS; rest = Math.floor(rest / 32)) {
    id = DIGITS.charAt(rest % 32) + id;
  }
  for (const byte of takeRandomBytes()) id += DIGITS.charAt(byte & 31);
  return id;
}

/** Like `createId`, but always greater than `last`, even if the clock stopped or was set back. */
export function createIdAfter(last: string | undefined, nowMilliseconds: number): string {
  const id = createId(nowMilliseconds);
  return last === undefined || id > last ? id : successor(last);
}

/** Random bytes are drawn in bulk: drawing them for each id would cost more than everything else. */
const pool = Buffer.alloc(256 * RANDOM_DIGITS);
let used = pool.length;

function takeRandomBytes(): Buffer {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += RANDOM_DIGITS;
  return pool.subarray(used - RANDOM_DIGITS, used);
}

function successor(id: string): string {
  const kept = id.replace(/z+$/, '');
  const raised = DIGITS.charAt(DIGITS.indexOf(kept.slice(-1)) + 1);
  return (kept.slice(0, -1) + raised).padEnd(id.length, '0');
}
