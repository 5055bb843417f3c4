/** A varint, as a bigint only if a number would be inexact; everything else as bytes. */
type FieldValue = number | bigint | Uint8Array;

/** The fields of a protobuf message, in byte order. https://protobuf.dev/programming-guides/encoding/ */
export class Message {
  readonly #fields: ReadonlyMap<number, readonly FieldValue[]>;

  constructor(fields: ReadonlyMap<number, readonly FieldValue[]>) {
    this.#fields = fields;
  }

  get fields(): readonly number[] {
    return [...this.#fields.keys()];
  }

  has(field: number): boolean {
    return this.#fields.has(field);
  }

  /** How often the field occurs. */
  count(field: number): number {
    return this.#fields.get(field)?.length ?? 0;
  }

  /** A missing field is 0, the default of the format. */
  number(field: number): number {
    const value = this.#fields.get(field)?.at(-1);
    return value instanceof Uint8Array || value === undefined ? 0 : Number(value);
  }

  /** Like `number`, for numbers that may be too large to be exact. */
  bigint(field: number): bigint {
    const value = this.#fields.get(field)?.at(-1);
    return value instanceof Uint8Array || value === undefined ? 0n : BigInt(value);
  }

  bytes(field: number): Uint8Array | undefined {
    const value = this.#fields.get(field)?.at(-1);
    return value instanceof Uint8Array ? value : undefined;
  }

  text(field: number): string {
    return Buffer.from(this.bytes(field) ?? []).toString('utf8');
  }

  /** All messages of a repeated field. */
  messages(field: number): readonly Message[] {
    return this.all(field).map(readMessage);
  }

  /** Each occurrence of a bytes field. */
  all(field: number): readonly Uint8Array[] {
    return (this.#fields.get(field) ?? []).filter((value) => value instanceof Uint8Array);
  }

  /** All numbers of a repeated field, packed or not. Negative ones appear as very large. */
  numbers(field: number): readonly number[] {
    return (this.#fields.get(field) ?? []).flatMap((value) =>
      value instanceof Uint8Array ? readPacked(value) : Number(value),
    );
  }
}

export function readMessage(bytes: Uint8Array): Message {
  const fields = new Map<number, FieldValue[]>();
  const reader = new Reader(bytes);
  while (!reader.isAtEnd) {
    const tag = Number(reader.varint());
    const field = Math.floor(tag / 8);
    const value = reader.value(tag % 8);
    const values = fields.get(field);
    if (values === undefined) fields.set(field, [value]);
    else values.push(value);
  }
  return new Message(fields);
}

/** Reads one number of a message, and skips its other fields, of which there may be many. */
export function findNumber(bytes: Uint8Array, wanted: number): number | undefined {
  const reader = new Reader(bytes);
  let found: number | undefined;
  while (!reader.isAtEnd) {
    const tag = Number(reader.varint());
    const value = reader.skip(tag % 8);
    if (Math.floor(tag / 8) === wanted) found = value;
  }
  return found;
}

function readPacked(bytes: Uint8Array): readonly number[] {
  const numbers: number[] = [];
  const reader = new Reader(bytes);
  while (!reader.isAtEnd) numbers.push(Number(reader.varint()));
  return numbers;
}

/** The fields of a message one by one, each with its tag, for copying with changes. */
export function splitFields(bytes: Uint8Array): readonly { readonly field: number; readonly bytes: Uint8Array }[] {
  const fields: { field: number; bytes: Uint8Array }[] = [];
  const reader = new Reader(bytes);
  while (!reader.isAtEnd) {
    const start = reader.position;
    const tag = Number(reader.varint());
    reader.value(tag % 8);
    fields.push({ field: Math.floor(tag / 8), bytes: bytes.subarray(start, reader.position) });
  }
  return fields;
}

export function encodeNumber(field: number, value: number): Buffer {
  return Buffer.concat([encodeVarint(field * 8), encodeVarint(value)]);
}

export function encodeBytes(field: number, value: Uint8Array): Buffer {
  return Buffer.concat([encodeVarint(field * 8 + 2), encodeVarint(value.length), value]);
}

/** Encodes a safe, non-negative integer. */
function encodeVarint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 0x7f; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 0x80);
  return Buffer.from([...bytes, rest]);
}

const VARINT_BYTES_MAX = 10;
/** Each byte has seven bits: this many bytes are exact as a number. */
const EXACT_BYTES = 7;

class Reader {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get position(): number {
    return this.#at;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#bytes.length;
  }

  /** Wire types 3 and 4 are deprecated groups. */
  value(wireType: number): FieldValue {
    if (wireType === 0) return this.varint();
    if (wireType === 1) return this.#take(8);
    if (wireType === 2) return this.#take(Number(this.varint()));
    if (wireType === 5) return this.#take(4);
    throw notMessage();
  }

  /** Like `value`, but returns no bytes for fields other than varints. */
  skip(wireType: number): number | undefined {
    if (wireType === 0) return Number(this.varint());
    if (wireType === 2) this.#advance(Number(this.varint()));
    else this.value(wireType);
    return undefined;
  }

  varint(): number | bigint {
    let value = 0;
    for (let index = 0, factor = 1; index < EXACT_BYTES; index += 1, factor *= 128) {
      const byte = this.#byte();
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
    }
    let long = BigInt(value);
    for (let index = EXACT_BYTES; index < VARINT_BYTES_MAX; index += 1) {
      const byte = this.#byte();
      long |= BigInt(byte & 0x7f) << BigInt(7 * index);
      if (byte < 0x80) return long;
    }
    throw notMessage();
  }

  #byte(): number {
    const byte = this.#bytes[this.#at];
    if (byte === undefined) throw notMessage();
    this.#at += 1;
    return byte;
  }

  #take(length: number): Uint8Array {
    const start = this.#at;
    this.#advance(length);
    return this.#bytes.subarray(start, this.#at);
  }

  #advance(length: number): void {
    const end = this.#at + length;
    if (end > this.#bytes.length) throw notMessage();
    this.#at = end;
  }
}

function notMessage(): Error {
  return new Error('The bytes are not a protobuf message.');
}
