import { seededRandom } from '../../support/arrow-fixtures.ts';

/** Where the metadata of a stream's messages stands: faults there reach further than faults in values. */
export function metadataRanges(stream: Buffer): readonly (readonly [number, number])[] {
  const ranges: [number, number][] = [];
  for (let at = 0; at + 8 <= stream.length;) {
    const isNew = stream.readUInt32LE(at) === 0xffffffff;
    const start = at + (isNew ? 8 : 4);
    const length = stream.readUInt32LE(isNew ? at + 4 : at);
    if (length === 0) break;
    ranges.push([at, start + length]);
    const root = start + stream.readUInt32LE(start);
    const vtable = root - stream.readInt32LE(root);
    const slot = stream.readUInt16LE(vtable) > 10 ? stream.readUInt16LE(vtable + 10) : 0;
    at = start + length + (slot === 0 ? 0 : Number(stream.readBigInt64LE(root + slot)));
  }
  return ranges;
}

/** One to four faults of the kinds that readers fall over. The same seed gives the same faults. */
export function mutate(stream: Buffer, ranges: readonly (readonly [number, number])[], seed: number): Buffer {
  const random = seededRandom(seed);
  let mutant: Buffer = Buffer.from(stream);
  for (let faults = 1 + random(4); faults > 0; faults -= 1) {
    const range = random(10) < 8 ? ranges[random(ranges.length)] : undefined;
    const [from, to] = range ?? [0, mutant.length];
    mutant = applyFault(mutant, Math.min(from + random(to - from), mutant.length - 1), random);
  }
  return mutant;
}

const INTERESTING = [0n, 1n, -1n, 7n, 8n, 64n, 255n, 0x7fffffffn, 0x80000000n, 1n << 40n, (1n << 63n) - 1n];

function applyFault(bytes: Buffer, at: number, random: (below: number) => number): Buffer {
  const word = at - (at % 8);
  switch (random(7)) {
    case 0:
      bytes[at] = random(256);
      break;
    case 1:
      bytes[at] = (bytes[at] ?? 0) ^ (1 << random(8));
      break;
    case 2:
      bytes[at] = [0, 1, 2, 3, 4, 8, 16, 127, 128, 255][random(10)] ?? 0;
      break;
    case 3:
      if (word + 8 <= bytes.length) bytes.writeBigInt64LE(INTERESTING[random(INTERESTING.length)] ?? 0n, word);
      break;
    case 4:
      if (word + 8 <= bytes.length) bytes.writeInt32LE(random(4096) - 1024, word + 4 * random(2));
      break;
    case 5: {
      const source = random(bytes.length);
      bytes.copy(bytes, word, source, source + 1 + random(32));
      break;
    }
    default:
      return random(8) === 0 ? Buffer.concat([bytes.subarray(0, word), bytes.subarray(word + 8)]) : bytes;
  }
  return bytes;
}
