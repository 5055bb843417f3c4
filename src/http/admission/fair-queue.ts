import type { ServiceError } from '../../errors/service-error.ts';

/** A request that waits for a slot. */
export interface Waiting {
  readonly caller: string;
  /** Monotonic milliseconds. */
  readonly since: number;
  readonly start: (release: () => void) => void;
  readonly refuse: (error: ServiceError) => void;
}

/**
 * First in, first out per caller, and round-robin between callers: a caller that sends many requests delays only
 * itself.
 */
export class FairQueue {
  /** In round-robin order; no list is empty. */
  readonly #callers = new Map<string, Waiting[]>();
  #length = 0;

  get length(): number {
    return this.#length;
  }

  add(entry: Waiting): void {
    const own = this.#callers.get(entry.caller);
    if (own === undefined) this.#callers.set(entry.caller, [entry]);
    else own.push(entry);
    this.#length += 1;
  }

  /** The next request of a caller that may start one. */
  take(mayStart: (caller: string) => boolean): Waiting | undefined {
    for (const [caller, own] of this.#callers) {
      if (!mayStart(caller)) continue;
      const entry = own.shift();
      this.#callers.delete(caller);
      if (own.length > 0) this.#callers.set(caller, own);
      this.#length -= 1;
      return entry;
    }
    return undefined;
  }

  remove(entry: Waiting): void {
    const own = this.#callers.get(entry.caller);
    const index = own?.indexOf(entry) ?? -1;
    if (own === undefined || index < 0) return;
    own.splice(index, 1);
    if (own.length === 0) this.#callers.delete(entry.caller);
    this.#length -= 1;
  }

  /** How many, at most, are taken before another request of this caller. */
  aheadOf(caller: string): number {
    const own = this.#callers.get(caller)?.length ?? 0;
    const others = this.#callers.size - (own > 0 ? 1 : 0);
    return Math.min(this.#length, own + others * (own + 1));
  }

  oldestOf(caller: string): Waiting | undefined {
    return this.#callers.get(caller)?.[0];
  }

  /** The newest request of the caller with the most, if it has more than this caller. */
  newestOfLongest(caller: string): Waiting | undefined {
    let longest = this.#callers.get(caller) ?? [];
    for (const own of this.#callers.values()) if (own.length > longest.length) longest = own;
    return longest === this.#callers.get(caller) ? undefined : longest.at(-1);
  }
}
