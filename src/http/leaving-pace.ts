/** One who leaves a gate, in milliseconds on a clock that only runs forward. */
export interface Leaving {
  readonly now: number;
  readonly startedAt: number;
  /** How many had places, this one included. */
  readonly running: number;
  /** Whether all places were taken and others were waiting. */
  readonly isFull: boolean;
}

/** What each new observation counts. */
const SHARE = 0.1;
/** One request that took minutes must not make the next hundred look hopeless. */
const LONGEST_MILLISECONDS = 1000;

/** How often, of late, places of a gate come free when all of them are taken. */
export class LeavingPace {
  #milliseconds: number | undefined;
  #lastFullAt: number | undefined;

  /** Between two who leave; 0 as long as nobody has. */
  get milliseconds(): number {
    return this.#milliseconds ?? 0;
  }

  /** While there is room, those who leave say how fast the work goes, and how many shared it. */
  left({ now, startedAt, running, isFull }: Leaving): void {
    const observed = isFull && this.#lastFullAt !== undefined ? now - this.#lastFullAt : (now - startedAt) / running;
    this.#lastFullAt = isFull ? now : undefined;
    const bounded = Math.min(observed, LONGEST_MILLISECONDS);
    this.#milliseconds =
      this.#milliseconds === undefined ? bounded : this.#milliseconds + SHARE * (bounded - this.#milliseconds);
  }
}
