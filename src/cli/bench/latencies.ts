const LEAST_MILLISECONDS = 0.01;
const STEP = 1.01;
/** From 10 µs to more than an hour. */
const STEPS = 2048;

/** How long requests took, in steps of one percent, so that any number of them needs the same memory. */
export class Latencies {
  count = 0;
  max = 0;
  private readonly counts = new Uint32Array(STEPS);

  add(milliseconds: number): void {
    const step = Math.round(Math.log(Math.max(milliseconds, LEAST_MILLISECONDS) / LEAST_MILLISECONDS) / Math.log(STEP));
    const place = Math.min(step, STEPS - 1);
    this.counts[place] = (this.counts[place] ?? 0) + 1;
    this.count += 1;
    this.max = Math.max(this.max, milliseconds);
  }

  /** Milliseconds within which this share of the requests was answered; `undefined` when there was none. */
  quantile(share: number): number | undefined {
    if (this.count === 0) return undefined;
    const wanted = Math.max(1, Math.ceil(this.count * share));
    let seen = 0;
    const place = this.counts.findIndex((count) => {
      seen += count;
      return seen >= wanted;
    });
    return Math.min(this.max, LEAST_MILLISECONDS * STEP ** place);
  }
}
