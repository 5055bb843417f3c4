/** Requests that the service has begun to answer, waiting ones included. */
export class UnderWay {
  #count = 0;
  #idle: (() => void)[] = [];

  get count(): number {
    return this.#count;
  }

  begin(): void {
    this.#count += 1;
  }

  end(): void {
    this.#count -= 1;
    if (this.#count > 0) return;
    const waiting = this.#idle;
    this.#idle = [];
    for (const resolve of waiting) resolve();
  }

  /** Resolves when nothing is under way. */
  async whenIdle(): Promise<void> {
    if (this.#count === 0) return;
    await new Promise<void>((resolve) => this.#idle.push(resolve));
  }
}
