export interface Pace {
  /** From now on we wait for the client. */
  waits(): void;
  /** The client did its part. */
  moves(): void;
  leave(): void;
}

interface Member {
  readonly cut: () => void;
  readonly holdsMemory: () => boolean;
  /** `undefined` while it is not the client who is slow. */
  waitsSince: number | undefined;
}

export interface PacedOptions {
  /** How long any client may keep us waiting, however many others there are. */
  readonly graceSeconds: number;
  /** Milliseconds on a clock that only runs forward. */
  readonly now: () => number;
}

/**
 * Exchanges that go at the pace of their clients. A slow client does no harm as long as there are places; when somebody
 * else needs one, the slowest loses its own.
 */
export class SlowClients {
  readonly #options: PacedOptions;
  readonly #members = new Set<Member>();

  constructor(options: PacedOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#members.size;
  }

  join(cut: () => void, holdsMemory = (): boolean => false): Pace {
    const member: Member = { cut, holdsMemory, waitsSince: undefined };
    this.#members.add(member);
    return {
      waits: () => {
        member.waitsSince ??= this.#options.now();
      },
      moves: () => {
        member.waitsSince = undefined;
      },
      leave: () => {
        this.#members.delete(member);
      },
    };
  }

  /** False when no client is so slow. */
  cutSlowest(): boolean {
    return this.#cutSlowestOf([...this.#members]);
  }

  /** The same, of those who keep memory from others. */
  cutSlowestHolder(): boolean {
    return this.#cutSlowestOf([...this.#members].filter(({ holdsMemory }) => holdsMemory()));
  }

  #cutSlowestOf(members: readonly Member[]): boolean {
    let slowest: Member | undefined;
    for (const member of members) {
      const since = member.waitsSince ?? Infinity;
      if (since < (slowest?.waitsSince ?? Infinity)) slowest = member;
    }
    const latest = this.#options.now() - this.#options.graceSeconds * 1000;
    if (slowest?.waitsSince === undefined || slowest.waitsSince > latest) return false;
    this.#members.delete(slowest);
    slowest.cut();
    return true;
  }
}
