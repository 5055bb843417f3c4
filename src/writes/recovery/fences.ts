import { LRUCache } from 'lru-cache';
import type { Journal, NewEntry } from '../../catalog/catalog.ts';
import type { Engine, WriteTarget } from '../../engine/engine.ts';
import { branchKey, isObjectRoot } from '../../model/table.ts';

interface FenceParts {
  readonly engine: Engine;
  readonly journal: Journal;
}

/** `epoch`: that of the owner, which may have taken the table over from the node that began the entry. */
type FencedEntry = Pick<NewEntry, 'baseVersion' | 'tableId' | 'epoch'>;

const FENCES_MAX = 1000;

/**
 * Fences off commits that may still be on their way to an object store, from a former owner or a call whose reply was
 * lost. A fence commits the latest version again; commits based on an earlier version are refused from then on.
 */
export class Fences {
  readonly #parts: FenceParts;
  /** The version of the last fence of each branch. */
  readonly #versions = new LRUCache<string, number>({ max: FENCES_MAX });

  constructor(parts: FenceParts) {
    this.#parts = parts;
  }

  /**
   * Returns the version of a fence after the base version of an entry. `undefined` if none is needed: on a local disk
   * no commit is late, and without data there is no version to base one on. Refuses if another node owns the table.
   */
  async fence(target: WriteTarget, { baseVersion, tableId, epoch }: FencedEntry): Promise<number | undefined> {
    const { engine, journal } = this.#parts;
    const { location, branch } = target;
    if (!isObjectRoot(location.root)) return undefined;
    // A table that replaces another at the same location has its own versions.
    const key = `${tableId} ${branchKey(location, branch)}`;
    const known = this.#versions.get(key);
    if (known !== undefined && known > baseVersion) return known;
    for (;;) {
      const latest = await engine.findLatestVersion(target);
      if (latest === undefined) return undefined;
      await journal.requireOwner(tableId, epoch);
      try {
        const version = await engine.restoreVersion(target, latest, latest);
        this.#versions.set(key, version);
        return version;
      } catch (error) {
        // The late commit has arrived, or maintenance has committed.
        if (!engine.isConflict(error)) throw error;
      }
    }
  }
}
