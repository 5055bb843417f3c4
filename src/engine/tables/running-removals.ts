import { locationKey } from '../../model/table.ts';
import type { TableLocation } from '../../model/table.ts';

/** The engine decides a little later than the service which versions are old. */
const MARGIN_MILLISECONDS = 60_000;

/**
 * Removals of old versions that are running. The engine checks once which versions are needed, then deletes their
 * files, and their manifests last: work that starts to need one of them meanwhile would find it, and lose its data.
 */
export class RunningRemovals {
  readonly #cutoffs = new Map<string, readonly number[]>();

  /** Versions of the main branch that were committed before `time` may be removed, until `removing` has settled. */
  add(location: TableLocation, time: number, removing: Promise<unknown>): void {
    const key = locationKey(location);
    const cutoff = time + MARGIN_MILLISECONDS;
    this.#cutoffs.set(key, [...(this.#cutoffs.get(key) ?? []), cutoff]);
    const end = (): void => {
      const all = this.#cutoffs.get(key) ?? [];
      const others = all.toSpliced(all.indexOf(cutoff), 1);
      if (others.length > 0) this.#cutoffs.set(key, others);
      else this.#cutoffs.delete(key);
    };
    removing.then(end, end);
  }

  cutoffOf(location: TableLocation): number | undefined {
    const cutoffs = this.#cutoffs.get(locationKey(location));
    return cutoffs === undefined ? undefined : Math.max(...cutoffs);
  }
}
