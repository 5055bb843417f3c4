import { placeKey } from '../model/table.ts';
import type { Place } from '../model/table.ts';

/** Which tables are being indexed. A build cannot be stopped, so that whoever removes its table clears up behind it. */
export class IndexBuilds {
  readonly #running = new Map<string, Set<Promise<unknown>>>();

  async track<Value>(place: Place, build: Promise<Value>): Promise<Value> {
    const key = placeKey(place);
    const builds = this.#running.get(key) ?? new Set();
    this.#running.set(key, builds.add(build));
    try {
      return await build;
    } finally {
      builds.delete(build);
      if (builds.size === 0) this.#running.delete(key);
    }
  }

  /** When those that run now are over; `undefined` when there are none. */
  whenOver(place: Place): Promise<unknown> | undefined {
    const builds = this.#running.get(placeKey(place));
    return builds === undefined ? undefined : Promise.allSettled(builds);
  }
}
