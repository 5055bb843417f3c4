interface Member {
  readonly evict: () => void;
  readonly holdsMemory: () => boolean;
  /** `undefined` while the client is not the one who is slow. */
  waitingSince: number | undefined;
}

export type TrackedClient = ReturnType<SlowClients['track']>;

/** Slow-client eviction: a slow client is tolerated until its slot or memory is needed by another request. */
export class SlowClients {
  readonly #graceSeconds: number;
  readonly #now: () => number;
  readonly #members = new Set<Member>();

  /** Clients may always be slow for the grace period, whatever the load. */
  constructor(graceSeconds: number, now = (): number => performance.now()) {
    this.#graceSeconds = graceSeconds;
    this.#now = now;
  }

  get size(): number {
    return this.#members.size;
  }

  track(evict: () => void, holdsMemory = (): boolean => false) {
    const member: Member = { evict, holdsMemory, waitingSince: undefined };
    this.#members.add(member);
    return {
      /** From now on the service waits for the client. */
      waiting: (): void => {
        member.waitingSince ??= this.#now();
      },
      /** The client sent or received something. */
      progressed: (): void => {
        member.waitingSince = undefined;
      },
      leave: (): void => void this.#members.delete(member),
    };
  }

  /** False when no client is beyond the grace period. */
  evictSlowest({ mustHoldMemory = false } = {}): boolean {
    let slowest: Member | undefined;
    for (const member of this.#members) {
      const since = member.waitingSince ?? Infinity;
      const isCandidate = !mustHoldMemory || member.holdsMemory();
      if (since < (slowest?.waitingSince ?? Infinity) && isCandidate) slowest = member;
    }
    const latest = this.#now() - this.#graceSeconds * 1000;
    if (slowest?.waitingSince === undefined || slowest.waitingSince > latest) return false;
    this.#members.delete(slowest);
    slowest.evict();
    return true;
  }
}
