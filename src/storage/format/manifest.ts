import { invalidInput } from '../../errors/service-error.ts';
import { findNumber, readMessage } from './protobuf.ts';
import type { Message } from './protobuf.ts';

/** The end of a manifest file: the offset of its message (8 bytes), two format numbers (2 bytes each), "LANC". */
const FOOTER_BYTES = 16;
const LENGTH_BYTES = 4;
const MAGIC = 'LANC';

/** Field of `Manifest` in Lance's table.proto: the offset of the commit's transaction in the file. */
const TRANSACTION_SECTION_FIELD = 21;

/** Reads bytes of a file; fewer than requested at its end. */
export type ReadAt = (start: number, length: number) => Buffer;

/** The offset of a manifest's message; `undefined` for an incomplete file. */
export function findMessage(size: number, readAt: ReadAt): number | undefined {
  if (size < FOOTER_BYTES + LENGTH_BYTES) return undefined;
  const footer = readAt(size - FOOTER_BYTES, FOOTER_BYTES);
  const start = footer.readBigUInt64LE(0);
  if (footer.toString('latin1', 12) !== MAGIC || start > BigInt(size - FOOTER_BYTES - LENGTH_BYTES)) return undefined;
  const length = readAt(Number(start), LENGTH_BYTES).readUInt32LE(0);
  const end = Number(start) + LENGTH_BYTES + length;
  return length > 0 && end <= size - FOOTER_BYTES ? Number(start) : undefined;
}

/** The message of a manifest file. */
export function readManifest(file: Buffer): Message {
  return readMessage(messageOf(file));
}

/** The transaction in a manifest file; `undefined` in files of older engines. */
export function findTransactionSection(file: Buffer): Buffer | undefined {
  const start = findNumber(messageOf(file), TRANSACTION_SECTION_FIELD);
  return start === undefined ? undefined : readSection(file, start);
}

function messageOf(file: Buffer): Buffer {
  const start = findMessage(file.length, (at, length) => file.subarray(at, at + length));
  if (start === undefined) throw new Error('The manifest is truncated.');
  return readSection(file, start);
}

/** `Manifest.base_paths` of Lance's table.proto. */
export const BASE_PATHS_FIELD = 18;
/** Of the features that a reader or a writer must know. */
export const BASE_PATHS_FLAG = 0b1_0000n;

/**
 * Refuses a manifest that names folders beside the table's own, as the engine's shallow clones do: a caller who could
 * register such a table could read any other through it.
 */
export function requireOwnFiles(file: Buffer): void {
  if (!readManifest(file).has(BASE_PATHS_FIELD)) return;
  const hint = 'Copy the rows to a new table.';
  throw invalidInput('The table at the location refers to files outside its directory.', hint);
}

/** Sections of a manifest file begin with their length. */
export function readSection(file: Buffer, start: number): Buffer {
  const from = start + LENGTH_BYTES;
  return file.subarray(from, from + file.readUInt32LE(start));
}

const LAST_NUMBER = 2n ** 64n - 1n;

/** Manifest names count down, so that the newest is listed first. */
export function manifestName(version: number): string {
  return `${String(LAST_NUMBER - BigInt(version)).padStart(20, '0')}.manifest`;
}

/** Names of twenty digits count down; those of old tables are the version itself. `undefined` for any other name. */
export function readManifestName(name: string): number | undefined {
  const digits = /^(\d{1,20})\.manifest$/.exec(name)?.[1];
  if (digits === undefined) return undefined;
  return Number(digits.length === 20 ? LAST_NUMBER - BigInt(digits) : BigInt(digits));
}
