import type { Socket } from 'node:net';
import { sumEverySecond } from '../../telemetry/telemetry.ts';

/** Counts in-flight requests. */
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

  async whenIdle(): Promise<void> {
    if (this.#count > 0) await new Promise<void>((resolve) => this.#idle.push(resolve));
  }
}

/** Bounds the number of open connections. `onRefused` is called at most once a second, with the number refused since. */
export class Connections {
  readonly #connectionsMax: number;
  readonly #refused: ReturnType<typeof sumEverySecond>;
  #open = 0;

  constructor(connectionsMax: number, onRefused: (count: number) => void) {
    this.#connectionsMax = connectionsMax;
    this.#refused = sumEverySecond(onRefused);
  }

  get open(): number {
    return this.#open;
  }

  /** False if there are too many connections; closes this one. */
  admit(socket: Socket): boolean {
    if (this.#open >= this.#connectionsMax) {
      // A refused socket has no other error listener.
      socket.on('error', () => {});
      socket.destroy();
      this.#refused.add();
      return false;
    }
    this.#open += 1;
    socket.once('close', () => {
      this.#open -= 1;
    });
    return true;
  }
}
