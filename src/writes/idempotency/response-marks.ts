import { randomUUID } from 'node:crypto';
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeSync } from 'node:fs';
import { crc32 } from 'node:zlib';

const SLOT_BYTES = 128;
const SLOTS = 4096;
const HEADER = 'tiltyard-marks-1';

/** The marks of the previous process: entries of its generation without a mark were never answered. */
export interface PastMarks {
  readonly generation: string;
  readonly marked: ReadonlySet<string>;
}

/**
 * Records which writes without an Idempotency-Key were answered, for the process that replaces this one after a kill. A
 * mark is one small write to a preallocated slot, right before the first byte of the response. It survives a kill, not
 * a power loss.
 *
 * Failures lead to a request being executed again: if a mark cannot be written, or the file is missing, damaged or from
 * another boot of the machine, no entry of its generation is replayed to a request without a key.
 */
export class ResponseMarks {
  /** Read before the marks of this process replace them. `undefined` if it is uncertain what was marked. */
  readonly past: PastMarks | undefined;
  readonly #path: string;
  readonly #bootId: string;
  readonly #free: number[] = [];
  readonly #used = new Map<string, number>();
  #file: number | undefined;
  #generation: string | undefined;

  constructor(path: string, bootId: string) {
    this.#path = path;
    this.#bootId = bootId;
    this.past = readPast(path, bootId);
  }

  /** The generation of new entries; `undefined` while there is no file for marks. */
  get generation(): string | undefined {
    return this.#generation;
  }

  /** Starts a generation in a new file, which replaces the previous one. False if the file cannot be written. */
  start(): boolean {
    const generation = randomUUID();
    const next = `${this.#path}.next`;
    try {
      this.close();
      this.#file = openSync(next, 'w+', 0o600);
      const slots = Buffer.alloc(SLOT_BYTES * (SLOTS + 1), ' ');
      slots.write(toSlot(`${HEADER} ${generation} ${this.#bootId}`), 0, 'latin1');
      writeSync(this.#file, slots);
      fsyncSync(this.#file);
      renameSync(next, this.#path);
    } catch {
      this.close();
      return false;
    }
    this.#generation = generation;
    this.#free.splice(0, Infinity, ...Array.from({ length: SLOTS }, (_, index) => SLOTS - index));
    this.#used.clear();
    return true;
  }

  /** False if the mark could not be written. */
  mark(id: string): boolean {
    const slot = this.#free.pop();
    if (this.#file === undefined || slot === undefined) return false;
    try {
      writeSync(this.#file, toSlot(id), slot * SLOT_BYTES, 'latin1');
    } catch {
      return false;
    }
    this.#used.set(id, slot);
    return true;
  }

  /** Frees the slots of entries that were removed from the journal. */
  release(ids: readonly string[]): void {
    for (const id of ids) {
      const slot = this.#used.get(id);
      if (slot !== undefined) this.#free.push(slot);
      this.#used.delete(id);
    }
  }

  /** Ends the generation: none of its entries is replayed after a restart. False if the file cannot be removed. */
  invalidate(): boolean {
    try {
      rmSync(this.#path, { force: true });
    } catch {
      // While the file exists, entries without a mark in it count as never answered.
      return false;
    }
    this.close();
    return true;
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
    this.#generation = undefined;
  }
}

/** The text and its checksum, padded with blanks. */
function toSlot(text: string): string {
  const sum = crc32(text).toString(16).padStart(8, '0');
  return `${text} ${sum}`.padEnd(SLOT_BYTES);
}

/** `undefined` if anything differs from what was written. */
function readPast(path: string, bootId: string): PastMarks | undefined {
  let text: string;
  try {
    text = readFileSync(path, 'latin1');
  } catch {
    return undefined;
  }
  if (text.length !== SLOT_BYTES * (SLOTS + 1)) return undefined;
  const texts: string[] = [];
  for (let at = 0; at < text.length; at += SLOT_BYTES) {
    const slot = text.slice(at, at + SLOT_BYTES);
    const content = slot.trimEnd();
    if (content === '') continue;
    const value = content.slice(0, -9);
    if (toSlot(value) !== slot) return undefined;
    texts.push(value);
  }
  const [header = '', ...marked] = texts;
  const [name, generation, boot] = header.split(' ');
  if (name !== HEADER || generation === undefined || boot !== bootId) return undefined;
  return { generation, marked: new Set(marked) };
}
