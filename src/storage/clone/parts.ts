import pLimit from 'p-limit';
import type { LimitFunction } from 'p-limit';
import type { PartedContent } from './clone-folder.ts';

/** Object stores require parts of at least 5 MiB. */
export const PART_BYTES = 8 * 2 ** 20;
/** Shared by all copies of the process: each part is in memory until its write has ended. */
const partsInMemory = pLimit(8);

/** Copies the parts of a content, several at a time, and returns the results in order. */
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

/** The offsets of the parts. */
export function startsOf(bytes: number, partBytes: number): readonly number[] {
  return Array.from({ length: Math.ceil(bytes / partBytes) }, (_, index) => index * partBytes);
}

/**
 * The results in order. After a failure nothing more starts, and running work ends before the error is thrown: files
 * that are removed afterwards must not come back.
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
