export interface TrackedClient {
  /** From now on the service waits for the client. */
  waiting(): void;
  /** The client sent or received something. */
  progressed(): void;
  leave(): void;
}

interface Member {
  readonly evict: () => void;
  readonly holdsMemory: () => boolean;
  /** `undefined` while the client is not the one who is slow. */
  waitingSince: number | undefined;
}

export interface SlowClientsOptions {
  /** Clients may always be this slow, whatever the load. */
  readonly graceSeconds: number;
  /** Monotonic milliseconds. */
  readonly now: () => number;
}

/** Slow-client eviction: a slow client is tolerated until its slot or memory is needed by another request. */
export class SlowClients {
  readonly #options: SlowClientsOptions;
  readonly #members = new Set<Member>();

  constructor(options: SlowClientsOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#members.size;
  }

  track(evict: () => void, holdsMemory = (): boolean => false): TrackedClient {
    const member: Member = { evict, holdsMemory, waitingSince: undefined };
    this.#members.add(member);
    return {
      waiting: () => {
        member.waitingSince ??= this.#options.now();
      },
      progressed: () => {
        member.waitingSince = undefined;
      },
      leave: () => void this.#members.delete(member),
    };
  }

  /** False when no client is beyond the grace period. */
  evictSlowest(isCandidate: (member: Pick<Member, 'holdsMemory'>) => boolean = () => true): boolean {
    let slowest: Member | undefined;
    for (const member of this.#members) {
      const since = member.waitingSince ?? Infinity;
      if (since < (slowest?.waitingSince ?? Infinity) && isCandidate(member)) slowest = member;
    }
    const latest = this.#options.now() - this.#options.graceSeconds * 1000;
    if (slowest?.waitingSince === undefined || slowest.waitingSince > latest) return false;
    this.#members.delete(slowest);
    slowest.evict();
    return true;
  }

  /** Spares clients that hold no memory. */
  evictSlowestHolder(): boolean {
    return this.evictSlowest((member) => member.holdsMemory());
  }
}
