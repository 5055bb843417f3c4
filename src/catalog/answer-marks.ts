import { closeSync, constants, openSync, readFileSync, writeSync } from 'node:fs';

const SLOT_BYTES = 104;
const SLOTS = 4096;

/** An answer that went out. */
export interface AnswerMark {
  readonly id: string;
  readonly digest: string;
}

interface NumberedMark extends AnswerMark {
  readonly number: number;
}

/**
 * Which writes were answered, for the process that comes after this one was killed. A mark is one small write to a file,
 * made at once and not synced, in the moment in which the answer goes out: the journal itself, which waits for the disk,
 * would be late. The oldest marks are written over; by then the journal has long been told.
 */
export class AnswerMarks {
  /** Those that were left, from the oldest on. */
  readonly found: readonly AnswerMark[];
  readonly #file: number;
  #number: number;

  private constructor(file: number, found: readonly NumberedMark[]) {
    this.#file = file;
    this.found = found;
    this.#number = (found.at(-1)?.number ?? -1) + 1;
  }

  static open(path: string): AnswerMarks {
    const file = openSync(path, constants.O_RDWR | constants.O_CREAT, 0o600);
    return new AnswerMarks(file, readMarks(readFileSync(file, 'latin1')));
  }

  /** Gives the slot, in which nothing but this mark stands for the next 4,096 answers. */
  set({ id, digest }: AnswerMark): number {
    const slot = this.#number % SLOTS;
    this.#write(slot, `${id} ${digest} ${this.#number}`);
    this.#number += 1;
    return slot;
  }

  clear(slot: number): void {
    this.#write(slot, '');
  }

  close(): void {
    closeSync(this.#file);
  }

  #write(slot: number, text: string): void {
    writeSync(this.#file, text.padEnd(SLOT_BYTES), slot * SLOT_BYTES, 'latin1');
  }
}

function readMarks(text: string): readonly NumberedMark[] {
  const marks: NumberedMark[] = [];
  for (let at = 0; at + SLOT_BYTES <= text.length; at += SLOT_BYTES) {
    const slot = text.slice(at, at + SLOT_BYTES).trim();
    const [id, digest, number] = slot.split(' ');
    if (id !== undefined && digest !== undefined) marks.push({ id, digest, number: Number(number) });
  }
  return marks.toSorted((one, other) => one.number - other.number);
}
