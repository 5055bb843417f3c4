import { ServiceError } from '../../errors/service-error.ts';

export interface Vector {
  readonly start: number;
  readonly count: number;
}

const EMPTY_VECTOR: Vector = { start: 0, count: 0 };

/** Strings have to be valid: the engine's own verifier refuses the rest, in words that do not name the column. */
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Reads flatbuffer tables out of bytes that nobody has vouched for: every access is checked against the end. Offsets
 * point forward only, so tables cannot form a ring, but several may share one child; what is read of text is therefore
 * bounded in total, and what is read of tables is for the caller to count.
 */
export class Flatbuffer {
  readonly bytes: Buffer;
  readonly place: MessageContext;
  #textBytesLeft: number;

  constructor(bytes: Buffer, place: MessageContext) {
    this.bytes = bytes;
    this.place = place;
    this.#textBytesLeft = bytes.length;
  }

  rootTable(): number {
    return this.u32(0);
  }

  u8Field(table: number, slot: number, missing: number): number {
    const at = this.#find(table, slot);
    return at === undefined ? missing : this.u8(at);
  }

  i16Field(table: number, slot: number, missing: number): number {
    const at = this.#find(table, slot);
    return at === undefined ? missing : this.i16(at);
  }

  i32Field(table: number, slot: number, missing: number): number {
    const at = this.#find(table, slot);
    return at === undefined ? missing : this.i32(at);
  }

  i64Field(table: number, slot: number, missing: number): number {
    const at = this.#find(table, slot);
    return at === undefined ? missing : this.i64(at);
  }

  tableField(table: number, slot: number): number | undefined {
    const at = this.#find(table, slot);
    return at === undefined ? undefined : this.#follow(at);
  }

  textField(table: number, slot: number): string | undefined {
    const vector = this.vectorField(table, slot, 1);
    if (vector === undefined) return undefined;
    this.spend(vector.count);
    try {
      return UTF8.decode(this.bytes.subarray(vector.start, vector.start + vector.count));
    } catch {
      return this.place.refuse('holds text that is not valid UTF-8');
    }
  }

  /** The tables that a vector field refers to. */
  *tables(table: number, slot: number): Generator<number> {
    const { start, count } = this.vectorField(table, slot, 4) ?? EMPTY_VECTOR;
    for (let index = 0; index < count; index += 1) yield this.#follow(start + 4 * index);
  }

  vectorField(table: number, slot: number, elementBytes: number): Vector | undefined {
    const at = this.#find(table, slot);
    if (at === undefined) return undefined;
    const head = this.#follow(at);
    const count = this.u32(head);
    this.#check(head + 4, count * elementBytes);
    return { start: head + 4, count };
  }

  /** Text that is shared by many tables counts each time: no honest writer needs more than the message is long. */
  spend(textBytes: number): void {
    this.#textBytesLeft -= textBytes;
    if (this.#textBytesLeft < 0) this.place.refuse('refers to the same text too often');
  }

  u8(at: number): number {
    this.#check(at, 1);
    return this.bytes.readUInt8(at);
  }

  i16(at: number): number {
    this.#check(at, 2);
    return this.bytes.readInt16LE(at);
  }

  i32(at: number): number {
    this.#check(at, 4);
    return this.bytes.readInt32LE(at);
  }

  u32(at: number): number {
    this.#check(at, 4);
    return this.bytes.readUInt32LE(at);
  }

  /** Beyond 2^53 nothing in a message can be right, so an exact number is always enough. */
  i64(at: number): number {
    this.#check(at, 8);
    const value = this.bytes.readInt32LE(at + 4) * 4294967296 + this.bytes.readUInt32LE(at);
    if (!Number.isSafeInteger(value)) this.place.refuse('holds a number that is out of range');
    return value;
  }

  #find(table: number, slot: number): number | undefined {
    const vtable = table - this.i32(table);
    const entry = 4 + 2 * slot;
    if (entry + 2 > this.#u16(vtable)) return undefined;
    const offset = this.#u16(vtable + entry);
    return offset === 0 ? undefined : table + offset;
  }

  #follow(at: number): number {
    return at + this.u32(at);
  }

  #u16(at: number): number {
    this.#check(at, 2);
    return this.bytes.readUInt16LE(at);
  }

  #check(at: number, length: number): void {
    if (at < 0 || at + length > this.bytes.length) this.place.refuse('has metadata that points outside of itself');
  }
}

/** Which message of a stream is being read, so that every refusal says where the fault stands. */
export class MessageContext {
  /** Begins a sentence. It becomes more exact once the message's kind is known: "Record batch 3". */
  name: string;
  readonly offset: number;

  constructor(name: string, offset: number) {
    this.name = name;
    this.offset = offset;
  }

  refuse(fault: string, hint?: string): never {
    const sentence = `${this.name}, at byte ${this.offset} of the Arrow stream, ${fault}.`;
    throw new ServiceError('InvalidInput', sentence, hint === undefined ? {} : { hint });
  }
}
