/** Upper bound of decoded bytes per encoded byte: a run length grows by 255 per byte. */
const EXPANSION_MAX = 255;

const FRAME_MAGIC = 0x184d2204;
const PADDING_BYTES_MAX = 63;

/** By the block size code of the frame descriptor; codes below 4 are reserved. */
const BLOCK_BYTES_MAX: Readonly<Record<number, number>> = { 4: 65536, 5: 262144, 6: 1048576, 7: 4194304 };

interface Block {
  readonly start: number;
  readonly end: number;
  readonly isCompressed: boolean;
}

/** Upper bound of a frame's decoded size, from its block sizes alone; `undefined` if it is not a frame. */
export function lz4DecodedBytesMax(bytes: Buffer): number | undefined {
  const frame = readFrame(bytes);
  if (frame === undefined) return undefined;
  return Math.min(frame.blocks.length * frame.blockBytesMax, bytes.length * EXPANSION_MAX);
}

/** Decodes the frame until `target` is full; returns whether it was filled. */
export function decodeLz4Frame(bytes: Buffer, target: Buffer): boolean {
  const frame = readFrame(bytes);
  if (frame === undefined) return false;
  let written = 0;
  for (const block of frame.blocks) {
    if (written === target.length) break;
    const source = bytes.subarray(block.start, block.end);
    const reached = block.isCompressed ? decodeBlock(source, target, written) : written + source.copy(target, written);
    if (reached === undefined) return false;
    written = reached;
  }
  return written === target.length;
}

function readFrame(bytes: Buffer) {
  if (bytes.length < 7 || bytes.readUInt32LE(0) !== FRAME_MAGIC) return undefined;
  const flags = bytes.readUInt8(4);
  const blockBytesMax = BLOCK_BYTES_MAX[(bytes.readUInt8(5) >> 4) & 7];
  if (flags >> 6 !== 1 || blockBytesMax === undefined) return undefined;
  const contentSizeBytes = (flags & 8) === 0 ? 0 : 8;
  const dictionaryIdBytes = (flags & 1) === 0 ? 0 : 4;
  const checksumBytes = (flags & 16) === 0 ? 0 : 4;
  const contentChecksumBytes = (flags & 4) === 0 ? 0 : 4;
  const blocks: Block[] = [];
  for (let at = 7 + contentSizeBytes + dictionaryIdBytes; at + 4 <= bytes.length;) {
    const head = bytes.readUInt32LE(at);
    const start = at + 4;
    if (head === 0) {
      const isWhole = start + contentChecksumBytes + PADDING_BYTES_MAX >= bytes.length;
      return isWhole ? { blockBytesMax, blocks } : undefined;
    }
    const end = start + (head & 0x7fffffff);
    at = end + checksumBytes;
    if (at > bytes.length) return undefined;
    blocks.push({ start, end, isCompressed: head >>> 31 === 0 });
  }
  return undefined;
}

/** Decodes one block after the bytes already written, which its matches may refer to. Returns the new end. */
function decodeBlock(source: Buffer, target: Buffer, from: number): number | undefined {
  let at = 0;
  let written = from;
  while (at < source.length) {
    const token = source[at] ?? 0;
    const literals = readLength(source, at + 1, token >> 4);
    if (literals.next + literals.length > source.length) return undefined;
    written += source.copy(target, written, literals.next, literals.next + literals.length);
    at = literals.next + literals.length;
    if (written === target.length || at === source.length) return written;
    if (at + 2 > source.length) return undefined;
    const distance = source.readUInt16LE(at);
    if (distance === 0 || distance > written) return undefined;
    const match = readLength(source, at + 2, token & 15);
    at = match.next;
    written = copyMatch(target, written, distance, match.length + 4);
  }
  return written;
}

function readLength(source: Buffer, from: number, nibble: number): { length: number; next: number } {
  let length = nibble;
  let next = from;
  if (nibble !== 15) return { length, next };
  for (let byte = 255; byte === 255; next += 1) {
    byte = source[next] ?? 0;
    length += byte;
  }
  return { length, next };
}

/** Byte by byte, because a match may overlap its own output. */
function copyMatch(target: Buffer, from: number, distance: number, length: number): number {
  const end = Math.min(target.length, from + length);
  for (let at = from; at < end; at += 1) target[at] = target[at - distance] ?? 0;
  return end;
}
