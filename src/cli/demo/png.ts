import { crc32, deflateSync } from 'node:zlib';

const SIGNATURE = Buffer.from('89504e470d0a1a0a', 'hex');
const BITS_PER_CHANNEL = 8;
const TRUE_COLOUR = 2;
const FILTER_UP = 2;

/** A square picture: three bytes per pixel, row by row. */
export interface Pixels {
  readonly side: number;
  readonly bytes: Uint8Array;
}

export function encodePng({ side, bytes }: Pixels): Uint8Array {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(side, 0);
  header.writeUInt32BE(side, 4);
  header.set([BITS_PER_CHANNEL, TRUE_COLOUR], 8);
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(filterRows(side * 3, bytes), { level: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

/** Stores each row as its difference from the row above, which makes smooth pictures much smaller. */
function filterRows(width: number, bytes: Uint8Array): Uint8Array {
  const rows = bytes.length / width;
  const filtered = new Uint8Array(rows * (width + 1));
  for (let row = 0; row < rows; row += 1) {
    const to = row * (width + 1);
    filtered[to] = FILTER_UP;
    for (let x = 0; x < width; x += 1) {
      const above = row === 0 ? 0 : (bytes[(row - 1) * width + x] ?? 0);
      filtered[to + 1 + x] = (bytes[row * width + x] ?? 0) - above;
    }
  }
  return filtered;
}

function chunk(type: string, data: Uint8Array): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, checksum]);
}
