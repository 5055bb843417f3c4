/** A field of a Thrift struct, with the raw bytes of its value. */
export interface ThriftField {
  readonly type: number;
  readonly raw: Uint8Array;
}

/** By field number. */
export type ThriftStruct = ReadonlyMap<number, ThriftField>;

/** Types of Thrift's compact protocol. */
const TYPE = { true: 1, false: 2, byte: 3, double: 7, binary: 8, list: 9, set: 10, struct: 12 } as const;
export const I32 = 5;
const I64 = 6;
const DEPTH_MAX = 32;

/** The fields of a struct, without reading their values, and its end. Throws if the bytes are not a struct. */
export function readStruct(bytes: Uint8Array, at = 0): { readonly fields: ThriftStruct; readonly end: number } {
  const reader = new ThriftReader(bytes, at);
  const fields = new Map(reader.fields(0));
  return { fields, end: reader.at };
}

/** The raw items of a list of structs or texts. */
export function readList({ raw }: ThriftField): readonly Uint8Array[] {
  return new ThriftReader(raw, 0).items(0);
}

export function readInteger(field: ThriftField | undefined): number | undefined {
  if (field === undefined) return undefined;
  const value = new ThriftReader(field.raw, 0).varint();
  return Number((value >> 1n) ^ -(value & 1n));
}

/** A text without its length. */
export function readText(raw: Uint8Array): string {
  const reader = new ThriftReader(raw, 0);
  const length = Number(reader.varint());
  return new TextDecoder().decode(raw.subarray(reader.at, reader.at + length));
}

export function integerField(value: number, type = I64): ThriftField {
  const wide = BigInt(value);
  return { type, raw: toVarint((wide << 1n) ^ (wide >> 63n)) };
}

export function textField(text: string): ThriftField {
  const bytes = new TextEncoder().encode(text);
  return { type: TYPE.binary, raw: joinBytes([toVarint(BigInt(bytes.length)), bytes]) };
}

export function structField(fields: ThriftStruct): ThriftField {
  return { type: TYPE.struct, raw: writeStruct(fields) };
}

export function boolField(value: boolean): ThriftField {
  return { type: value ? TYPE.true : TYPE.false, raw: new Uint8Array() };
}

export function listField(structs: readonly Uint8Array[]): ThriftField {
  const head = Uint8Array.of(0xf0 | TYPE.struct);
  return { type: TYPE.list, raw: joinBytes([head, toVarint(BigInt(structs.length)), ...structs]) };
}

/** With complete field numbers, which every reader accepts. */
export function writeStruct(fields: ThriftStruct): Uint8Array {
  const parts: Uint8Array[] = [];
  for (const [id, { type, raw }] of [...fields].toSorted(([one], [other]) => one - other)) {
    parts.push(Uint8Array.of(type), toVarint(BigInt(id) << 1n), raw);
  }
  return joinBytes([...parts, Uint8Array.of(0)]);
}

export function joinBytes(parts: readonly Uint8Array[]): Uint8Array {
  const joined = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}

function toVarint(value: bigint): Uint8Array {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, value);
  for (; rest > 0x7fn; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
  return Uint8Array.of(...bytes, Number(rest));
}

class ThriftReader {
  at: number;
  readonly #bytes: Uint8Array;

  constructor(bytes: Uint8Array, at: number) {
    this.#bytes = bytes;
    this.at = at;
  }

  *fields(depth: number): Generator<[id: number, field: ThriftField]> {
    let id = 0;
    for (let head = this.#byte(); head !== 0; head = this.#byte()) {
      id = head >> 4 === 0 ? Number(this.varint() >> 1n) : id + (head >> 4);
      const type = head & 0x0f;
      const start = this.at;
      this.#skip(type, depth + 1);
      yield [id, { type, raw: this.#bytes.subarray(start, this.at) }];
    }
  }

  items(depth: number): readonly Uint8Array[] {
    const head = this.#byte();
    const type = head & 0x0f;
    const length = head >> 4 === 0x0f ? Number(this.varint()) : head >> 4;
    const items: Uint8Array[] = [];
    for (let index = 0; index < length; index += 1) {
      const start = this.at;
      // A boolean in a list takes a byte.
      this.#skip(type === TYPE.true || type === TYPE.false ? TYPE.byte : type, depth + 1);
      items.push(this.#bytes.subarray(start, this.at));
    }
    return items;
  }

  varint(): bigint {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.#byte();
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    throw new Error('a number that is too long');
  }

  #skip(type: number, depth: number): void {
    if (depth > DEPTH_MAX) throw new Error('nested too deeply');
    if (type === TYPE.true || type === TYPE.false) return;
    if (type === TYPE.byte) this.#move(1);
    else if (type < TYPE.double) void this.varint();
    else if (type === TYPE.double) this.#move(8);
    else if (type === TYPE.binary) this.#move(Number(this.varint()));
    else if (type === TYPE.list || type === TYPE.set) this.items(depth);
    else if (type === TYPE.struct) for (const field of this.fields(depth)) void field;
    else throw new Error('a type that Parquet does not use');
  }

  #byte(): number {
    const byte = this.#bytes[this.at];
    if (byte === undefined) throw new Error('cut off');
    this.at += 1;
    return byte;
  }

  #move(bytes: number): void {
    this.at += bytes;
    if (this.at > this.#bytes.length) throw new Error('cut off');
  }
}
