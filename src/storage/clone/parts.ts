import pLimit from 'p-limit';
import type { LimitFunction } from 'p-limit';
import type { PartedContent } from './clone-folder.ts';

/** Object stores take parts of 5 MiB or more. */
export const PART_BYTES = 8 * 2 ** 20;
/** Of all copies of the process: each part is in memory from its first byte to the end of its write. */
const partsInMemory = pLimit(8);

/** Passes the parts of a content on, several at a time, and gives the results in order. */
export async function passParts<Result>(
  content: PartedContent,
  partBytes: number,
  write: (part: Buffer, start: number, index: number) => Promise<Result>,
): Promise<readonly Result[]> {
  const { bytes } = content;
  return mapAll(partsInMemory, startsOf(bytes, partBytes), async (start, index) => {
    const length = Math.min(partBytes, bytes - start);
    const part = await content.readPart(start, length);
    if (part.length !== length) throw new Error('A file changed while it was copied.');
    return write(part, start, index);
  });
}

/** Where the parts begin. */
export function startsOf(bytes: number, partBytes: number): readonly number[] {
  return Array.from({ length: Math.ceil(bytes / partBytes) }, (_, index) => index * partBytes);
}

/**
 * The results in order. After a failure nothing more is started, and what was started has ended before it is thrown: what
 * is removed then must not come back.
 */
export async function mapAll<Item, Result>(
  limit: LimitFunction,
  items: readonly Item[],
  work: (item: Item, index: number) => Promise<Result>,
): Promise<readonly Result[]> {
  let failure: { readonly error: unknown } | undefined;
  const results: Result[] = [];
  const runOne = async (item: Item, index: number): Promise<void> => {
    if (failure !== undefined) return;
    try {
      results[index] = await work(item, index);
    } catch (error) {
      failure ??= { error };
    }
  };
  await Promise.all(items.map(async (item, index) => limit(runOne, item, index)));
  if (failure !== undefined) throw failure.error;
  return results;
}
