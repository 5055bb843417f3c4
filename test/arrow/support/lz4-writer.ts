/** LZ4 frames for tests: blocks as given, compressed with the simplest matcher there is. */
export function lz4Frame(blocks: readonly Uint8Array[], blockSizeCode: number): Buffer {
  const head = Buffer.from([0x04, 0x22, 0x4d, 0x18, 0x60, blockSizeCode << 4, 0]);
  const parts: Uint8Array[] = [head];
  for (const block of blocks) {
    const compressed = compressBlock(block);
    const size = Buffer.alloc(4);
    size.writeUInt32LE(compressed.length);
    parts.push(size, compressed);
  }
  return Buffer.concat([...parts, Buffer.alloc(4)]);
}

export function zeroBlock(bytes: number): Buffer {
  return Buffer.alloc(bytes);
}

const MATCH_BYTES_MIN = 4;
/** The format wants the last bytes of a block as literals. */
const LAST_LITERALS = 5;
const MATCH_DISTANCE_MAX = 65535;

export function compressBlock(block: Uint8Array): Buffer {
  const bytes = Buffer.from(block.buffer, block.byteOffset, block.byteLength);
  const out: Uint8Array[] = [];
  const seen = new Map<number, number>();
  let literalsFrom = 0;
  let at = 0;
  while (at + MATCH_BYTES_MIN + LAST_LITERALS <= bytes.length) {
    const word = bytes.readUInt32LE(at);
    const candidate = seen.get(word);
    seen.set(word, at);
    if (candidate === undefined || at - candidate > MATCH_DISTANCE_MAX) {
      at += 1;
      continue;
    }
    const length = matchLength(bytes, candidate, at);
    out.push(sequence(bytes.subarray(literalsFrom, at), at - candidate, length));
    at += length;
    literalsFrom = at;
  }
  out.push(sequence(bytes.subarray(literalsFrom), 0, 0));
  return Buffer.concat(out);
}

function matchLength(bytes: Buffer, candidate: number, at: number): number {
  let length = MATCH_BYTES_MIN;
  while (at + length < bytes.length - LAST_LITERALS && bytes[candidate + length] === bytes[at + length]) length += 1;
  return length;
}

function sequence(literals: Buffer, distance: number, length: number): Buffer {
  const match = distance === 0 ? 0 : length - MATCH_BYTES_MIN;
  const token = Buffer.from([(Math.min(15, literals.length) << 4) | Math.min(15, match)]);
  const parts = [token, extraLength(literals.length), literals];
  if (distance > 0) parts.push(Buffer.from([distance & 0xff, distance >> 8]), extraLength(match));
  return Buffer.concat(parts);
}

function extraLength(length: number): Buffer {
  if (length < 15) return Buffer.alloc(0);
  const rest = length - 15;
  return Buffer.concat([Buffer.alloc(Math.floor(rest / 255), 255), Buffer.from([rest % 255])]);
}
