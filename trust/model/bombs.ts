import { TYPES, batchMessage, field, schemaMessage, streamOf } from '../../test/support/arrow-fixtures.ts';

const GIBIBYTE = 1024 ** 3;
const ZSTD_BLOCK_BYTES = 128 * 1024;
const ZSTD = 1;
const LZ4 = 0;

/** Small bodies that declare, or decode to, huge ones. */
export function makeBombs(): Readonly<Record<string, Buffer>> {
  const bytes = schemaMessage([field('x', TYPES.int8)]);
  return {
    'a ZSTD body of 1 GiB': streamOf(bytes, batchOf(GIBIBYTE, ZSTD, zstdOfZeros(GIBIBYTE))),
    'an LZ4 body that says 1 GiB': streamOf(
      bytes,
      batchOf(GIBIBYTE, LZ4, Buffer.from('04224d186040820000000000', 'hex')),
    ),
    '1e9 rows of nulls': streamOf(
      schemaMessage([field('x', TYPES.null)]),
      batchMessage({ rows: 1_000_000_000, nodes: [[1_000_000_000, 1_000_000_000]], buffers: [] }),
    ),
  };
}

function batchOf(rows: number, codec: number, packed: Buffer): Buffer {
  const length = Buffer.alloc(8);
  length.writeBigInt64LE(BigInt(rows));
  return batchMessage({ rows, nodes: [[rows, 0]], buffers: [Buffer.alloc(0), Buffer.concat([length, packed])], codec });
}

/** A frame of blocks that each declare 128 KiB of the same byte. */
function zstdOfZeros(bytes: number): Buffer {
  const header = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0xa0, 0, 0, 0, 0]);
  header.writeUInt32LE(bytes, 5);
  const blocks = bytes / ZSTD_BLOCK_BYTES;
  const body = Buffer.alloc(blocks * 4);
  for (let block = 0; block < blocks; block += 1) {
    const isLast = block === blocks - 1 ? 1 : 0;
    body.writeUIntLE((ZSTD_BLOCK_BYTES << 3) | (1 << 1) | isLast, block * 4, 3);
  }
  return Buffer.concat([header, body]);
}
