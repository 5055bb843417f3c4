import type { Server } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

/** Requests that the service has begun to answer, waiting ones included. */
export class InFlight {
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

const POLL_MILLISECONDS = 10;

/** Counts requests until the last byte of their replies is out, or their connections are gone. */
export class OpenExchanges {
  #count = 0;

  constructor(server: Server) {
    server.on('request', (_request, response) => {
      this.#count += 1;
      response.once('close', () => {
        this.#count -= 1;
      });
    });
  }

  get count(): number {
    return this.#count;
  }

  /** Waits until there are none, but no longer than that. */
  async whenNone(milliseconds: number): Promise<void> {
    for (let waited = 0; this.#count > 0 && waited < milliseconds; waited += POLL_MILLISECONDS) {
      await sleep(POLL_MILLISECONDS);
    }
  }
}
