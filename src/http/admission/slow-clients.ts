interface Member {
  readonly evict: () => void;
  readonly holdsMemory: () => boolean;
  /** `undefined` while the service is not waiting for the client. */
  waitingSince: number | undefined;
  /** How much longer the service has waited for its earlier bytes than the minimum rate allows. */
  lateMilliseconds: number;
}

/** A client that is slower than this counts as one that stalls now and then. */
const BYTES_PER_SECOND_MIN = 16 * 1024;

export type TrackedClient = ReturnType<SlowClients['track']>;

/** Slow-client eviction: a slow client is tolerated until its slot or memory is needed by another request. */
export class SlowClients {
  readonly #graceSeconds: number;
  readonly #now: () => number;
  readonly #members = new Set<Member>();

  /** Clients are never evicted within the grace period, whatever the load. */
  constructor(graceSeconds: number, now = (): number => performance.now()) {
    this.#graceSeconds = graceSeconds;
    this.#now = now;
  }

  get size(): number {
    return this.#members.size;
  }

  track(evict: () => void, holdsMemory = (): boolean => false) {
    const member: Member = { evict, holdsMemory, waitingSince: undefined, lateMilliseconds: 0 };
    this.#members.add(member);
    return {
      /** From now on the service waits for the client. */
      waiting: (): void => {
        member.waitingSince ??= this.#now();
      },
      /** The client sent or received something. Without a size, all earlier delays are forgiven. */
      progressed: (bytes = Infinity): void => {
        const late = this.#lateness(member) - (bytes / BYTES_PER_SECOND_MIN) * 1000;
        member.lateMilliseconds = Math.max(0, late);
        member.waitingSince = undefined;
      },
      leave: (): void => void this.#members.delete(member),
    };
  }

  /** False if no client has exceeded the grace period. */
  evictSlowest({ mustHoldMemory = false } = {}): boolean {
    let slowest: Member | undefined;
    let most = this.#graceSeconds * 1000;
    for (const member of this.#members) {
      const isCandidate = member.waitingSince !== undefined && (!mustHoldMemory || member.holdsMemory());
      const late = isCandidate ? this.#lateness(member) : -1;
      if (late < most || (slowest !== undefined && late === most)) continue;
      slowest = member;
      most = late;
    }
    if (slowest === undefined) return false;
    this.#members.delete(slowest);
    slowest.evict();
    return true;
  }

  #lateness({ waitingSince, lateMilliseconds }: Member): number {
    return lateMilliseconds + (waitingSince === undefined ? 0 : this.#now() - waitingSince);
  }
}
