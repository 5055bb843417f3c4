export type JsonValue =
  | null
  | boolean
  | number
  | bigint
  | string
  | readonly JsonValue[]
  | { readonly [name: string]: JsonValue };

export type JsonRow = Readonly<Record<string, JsonValue>>;

/** Rows of an NDJSON text. Whole numbers that no JavaScript number holds become a `bigint`, so that no digit is lost. */
export function parseRows(text: string): readonly JsonRow[] {
  const lines = text.split('\n').filter((line) => line !== '');
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The server writes one object per line.
  return lines.map((line) => parseExact(line) as JsonRow);
}

export function parseExact(text: string): JsonValue {
  let hasLarge = false;
  const marked = text.replace(TOKEN, (token) => {
    if (!isLarge(token)) return token;
    hasLarge = true;
    return `"${MARK}${token}"`;
  });
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- What JSON text parses to.
  return JSON.parse(hasLarge ? marked : text, hasLarge ? unmark : undefined) as JsonValue;
}

/** A string or a number, so that digits inside a string are passed over with it. */
const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** A private character, in a place where only whole numbers follow. */
const MARK = '\ue000int:';

function isLarge(token: string): boolean {
  return /^-?\d{16,}$/.test(token) && !Number.isSafeInteger(Number(token));
}

function unmark(_name: string, value: unknown): unknown {
  if (typeof value !== 'string' || !value.startsWith(MARK)) return value;
  const digits = value.slice(MARK.length);
  return /^-?\d+$/.test(digits) ? BigInt(digits) : value;
}
