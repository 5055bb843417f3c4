/** A disk whose syncs wait while the gate is closed: what is written meanwhile is neither recorded nor answered. */
export class DiskGate {
  #wait: Promise<void> | undefined;
  #open: () => void = () => {};

  async sync(): Promise<void> {
    await this.#wait;
  }

  close(): void {
    this.#wait = new Promise((resolve) => {
      this.#open = resolve;
    });
  }

  open(): void {
    this.#wait = undefined;
    this.#open();
  }
}
