import { randomBytes } from 'node:crypto';

/** Crockford's base 32 in lower case: in the order of ASCII, without look-alikes, and fit for a directory name. */
const DIGITS = '0123456789abcdefghjkmnpqrstvwxyz';
const LENGTH = 26;
const RANDOM_BYTES = 10;

/** 48 bits of time and 80 of chance, as text that sorts by time. */
export function createId(nowMilliseconds: number): string {
  const random = BigInt(`0x${randomBytes(RANDOM_BYTES).toString('hex')}`);
  let rest = (BigInt.asUintN(48, BigInt(Math.trunc(nowMilliseconds))) << 80n) | random;
  let id = '';
  while (id.length < LENGTH) {
    id = DIGITS.charAt(Number(rest & 31n)) + id;
    rest >>= 5n;
  }
  return id;
}

/** As `createId`, and past `last` even when the clock stands still or was set back. */
export function createIdAfter(last: string | undefined, nowMilliseconds: number): string {
  const id = createId(nowMilliseconds);
  return last === undefined || id > last ? id : successor(last);
}

function successor(id: string): string {
  const kept = id.replace(/z+$/, '');
  const raised = DIGITS.charAt(DIGITS.indexOf(kept.slice(-1)) + 1);
  return (kept.slice(0, -1) + raised).padEnd(id.length, '0');
}
