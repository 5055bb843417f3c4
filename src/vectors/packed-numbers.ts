/** Numbers as short text for addresses: `f4:` or `f8:` and the bytes of the floats in base64 for URLs. */
const PACKED = /^f([48]):([\w-]*)$/;

/** Four bytes per number if that loses no digit, otherwise eight. */
export function packNumbers(numbers: readonly number[]): string {
  const isSingle = numbers.every((number) => toSingle(number) === number);
  const floats = isSingle ? Float32Array.from(numbers) : Float64Array.from(numbers);
  return `f${isSingle ? 4 : 8}:${toBase64(new Uint8Array(floats.buffer))}`;
}

/** `undefined` for any other text. */
export function unpackNumbers(text: string): readonly number[] | undefined {
  const [, size, base64] = PACKED.exec(text) ?? [];
  if (size === undefined || base64 === undefined) return undefined;
  const bytes = fromBase64(base64);
  if (bytes === undefined || bytes.length % Number(size) !== 0) return undefined;
  return size === '4'
    ? Array.from(new Float32Array(bytes.buffer), fromSingle)
    : Array.from(new Float64Array(bytes.buffer));
}

/**
 * Rounded to single precision, with as few digits as distinguish it from its neighbors: 0.1, not 0.10000000149011612.
 */
export function toSingle(number: number): number {
  return fromSingle(Math.fround(number));
}

const DIGITS_MIN = 6;
const DIGITS_MAX = 9;

function fromSingle(single: number): number {
  for (let digits = DIGITS_MIN; digits < DIGITS_MAX; digits += 1) {
    const short = Number(single.toPrecision(digits));
    if (Math.fround(short) === single) return short;
  }
  return Number(single.toPrecision(DIGITS_MAX));
}

function toBase64(bytes: Uint8Array): string {
  const text = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''));
  return text.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (letter) => letter.charCodeAt(0));
  } catch {
    return undefined;
  }
}
