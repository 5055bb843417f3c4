import { setImmediate as nextTurn } from 'node:timers/promises';

/** Entries by the thousand come in pages, so that the requests of others get their turn in between. */
const PAGE_ENTRIES = 1000;

/** Up to `limit` entries, each page behind the last entry of the one before. */
export async function collectPages<Entry>(
  limit: number,
  read: (last: Entry | undefined, limit: number) => Promise<readonly Entry[]>,
): Promise<readonly Entry[]> {
  const found: Entry[] = [];
  while (found.length < limit) {
    const wanted = Math.min(PAGE_ENTRIES, limit - found.length);
    const page = await read(found.at(-1), wanted);
    found.push(...page);
    if (page.length < wanted) break;
    await nextTurn();
  }
  return found;
}
