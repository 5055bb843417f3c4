import { invalidInput } from '../../errors/service-error.ts';

/** Error context for refusals: which message of a stream is being read. */
export class MessageContext {
  /** Begins a sentence. More specific once the message's kind is known: "Record batch 3". */
  name: string;
  readonly offset: number;

  constructor(name: string, offset: number) {
    this.name = name;
    this.offset = offset;
  }

  refuse(fault: string, hint?: string): never {
    throw invalidInput(`${this.name}, at byte ${this.offset} of the Arrow stream, ${fault}.`, hint);
  }
}

export interface Vector {
  readonly start: number;
  readonly count: number;
}

export const EMPTY_VECTOR: Vector = { start: 0, count: 0 };

/** Strings must be valid: the engine's own verifier refuses others without naming the column. */
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Reads flatbuffer tables from untrusted bytes: every access is checked against the end. Offsets only point forward, so
 * tables cannot form a cycle, but several may share one child: the total text is bounded here, tables by the caller.
 */
export class Flatbuffer {
  readonly bytes: Buffer;
  readonly context: MessageContext;
  #textBytesRemaining: number;

  constructor(bytes: Buffer, context: MessageContext) {
    this.bytes = bytes;
    this.context = context;
    this.#textBytesRemaining = bytes.length;
  }

  refuse(fault: string, hint?: string): never {
    return this.context.refuse(fault, hint);
  }

  rootTable(): number {
    return this.#u32(0);
  }

  u8Field(table: number, slot: number, missing = 0): number {
    const at = this.#find(table, slot, 1);
    return at === undefined ? missing : this.bytes.readUInt8(at);
  }

  i16Field(table: number, slot: number, missing = 0): number {
    const at = this.#find(table, slot, 2);
    return at === undefined ? missing : this.bytes.readInt16LE(at);
  }

  i32Field(table: number, slot: number, missing = 0): number {
    const at = this.#find(table, slot, 4);
    return at === undefined ? missing : this.bytes.readInt32LE(at);
  }

  i64Field(table: number, slot: number, missing = 0): number {
    const at = this.#find(table, slot, 8);
    return at === undefined ? missing : this.i64(at);
  }

  tableField(table: number, slot: number): number | undefined {
    const at = this.#find(table, slot, 4);
    return at === undefined ? undefined : this.#follow(at);
  }

  textField(table: number, slot: number): string | undefined {
    const vector = this.vectorField(table, slot, 1);
    if (vector === undefined) return undefined;
    this.spend(vector.count);
    try {
      return UTF8.decode(this.bytes.subarray(vector.start, vector.start + vector.count));
    } catch {
      return this.refuse('contains text that is not valid UTF-8');
    }
  }

  *tables(table: number, slot: number): Generator<number> {
    const { start, count } = this.vectorField(table, slot, 4) ?? EMPTY_VECTOR;
    for (let index = 0; index < count; index += 1) yield this.#follow(start + 4 * index);
  }

  vectorField(table: number, slot: number, elementBytes: number): Vector | undefined {
    const head = this.tableField(table, slot);
    if (head === undefined) return undefined;
    const count = this.#u32(head);
    this.#check(head + 4, count * elementBytes);
    return { start: head + 4, count };
  }

  /** Removes the first elements of a vector in place, by moving its start. */
  dropFirst(table: number, slot: number, elementBytes: number, by: number): void {
    const at = this.#find(table, slot, 4);
    const vector = this.vectorField(table, slot, elementBytes);
    if (at === undefined || vector === undefined || vector.count < by) return this.refuse('has too few elements');
    const head = vector.start + by * elementBytes - 4;
    this.bytes.writeUInt32LE(vector.count - by, head);
    writeOffset(this.bytes, at, head);
  }

  /** Text that many tables share counts each time: an honest writer never exceeds the length of the message. */
  spend(textBytes: number): void {
    this.#textBytesRemaining -= textBytes;
    if (this.#textBytesRemaining < 0) this.refuse('refers to the same text too many times');
  }

  /** No valid length or offset exceeds 2^53, so a number is exact. */
  i64(at: number): number {
    this.#check(at, 8);
    const value = this.bytes.readInt32LE(at + 4) * 4294967296 + this.bytes.readUInt32LE(at);
    if (!Number.isSafeInteger(value)) this.refuse('contains a number that is out of range');
    return value;
  }

  /** The position of a field of this size, or `undefined` if it has its default value. */
  #find(table: number, slot: number, bytes: number): number | undefined {
    this.#check(table, 4);
    const vtable = table - this.bytes.readInt32LE(table);
    const entry = 4 + 2 * slot;
    if (entry + 2 > this.#u16(vtable)) return undefined;
    const offset = this.#u16(vtable + entry);
    if (offset === 0) return undefined;
    this.#check(table + offset, bytes);
    return table + offset;
  }

  #follow(at: number): number {
    return at + this.#u32(at);
  }

  #u16(at: number): number {
    this.#check(at, 2);
    return this.bytes.readUInt16LE(at);
  }

  #u32(at: number): number {
    this.#check(at, 4);
    return this.bytes.readUInt32LE(at);
  }

  #check(at: number, length: number): void {
    if (at < 0 || at + length > this.bytes.length) this.refuse('has metadata that points outside the message');
  }
}

/** A table at a fixed position. The vtable's entries: its size, the table's size, then each field's offset. */
export interface TableLayout {
  readonly vtable: number;
  readonly table: number;
  readonly entries: readonly number[];
}

export function writeVtable(target: Buffer, { vtable, table, entries }: TableLayout): void {
  for (const [index, entry] of entries.entries()) target.writeUInt16LE(entry, vtable + 2 * index);
  target.writeInt32LE(table - vtable, table);
}

/** The inverse of `i64`. Avoids a BigInt, because several are written for every result. */
export function writeI64(target: Buffer, value: number, at: number): void {
  target.writeUInt32LE(value >>> 0, at);
  target.writeInt32LE(Math.floor(value / 2 ** 32), at + 4);
}

export function writeOffset(target: Buffer, at: number, to: number): void {
  target.writeUInt32LE(to - at, at);
}
