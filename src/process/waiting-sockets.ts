import type { Socket } from 'node:net';
import { sumEverySecond } from '../telemetry/telemetry.ts';

interface WaitingSocketsOptions {
  readonly socketsMax: number;
  readonly waitSeconds: number;
  /** Called at most once a second, with the number refused since. */
  readonly onRefused: (count: number) => void;
}

interface Waiting {
  readonly socket: Socket;
  readonly expiry: NodeJS.Timeout;
  isGiven: boolean;
}

/**
 * Connections that no worker has taken yet. They stay open here until a worker confirms that it has them: those sent to
 * a worker that died are sent to the next one.
 */
export class WaitingSockets {
  readonly #options: WaitingSocketsOptions;
  readonly #waiting = new Map<number, Waiting>();
  readonly #refused: ReturnType<typeof sumEverySecond>;
  #lastId = 0;

  constructor(options: WaitingSocketsOptions) {
    this.#options = options;
    this.#refused = sumEverySecond(options.onRefused);
  }

  /** Closes the socket if too many wait, or once it has waited too long. */
  add(socket: Socket): void {
    // The worker that reads a broken connection will notice; here the error is ignored.
    socket.on('error', () => {});
    if (this.#waiting.size >= this.#options.socketsMax) {
      this.#refuse(socket);
      return;
    }
    this.#lastId += 1;
    const id = this.#lastId;
    const expiry = setTimeout(() => {
      this.#waiting.delete(id);
      this.#refuse(socket);
    }, this.#options.waitSeconds * 1000);
    this.#waiting.set(id, { socket, expiry, isGiven: false });
  }

  giveAll(give: (id: number, socket: Socket) => void): void {
    for (const [id, waiting] of this.#waiting) {
      if (waiting.isGiven) continue;
      waiting.isGiven = true;
      give(id, waiting.socket);
    }
  }

  /** The worker has the connection, so only this process's copy is closed. */
  release(id: number): void {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) return;
    this.#waiting.delete(id);
    clearTimeout(waiting.expiry);
    waiting.socket.destroy();
  }

  /** The worker died: connections that it had not taken go to the next one. */
  takeBack(): void {
    for (const waiting of this.#waiting.values()) waiting.isGiven = false;
  }

  closeAll(): void {
    for (const id of this.#waiting.keys()) this.release(id);
    this.#refused.stop();
  }

  #refuse(socket: Socket): void {
    socket.destroy();
    this.#refused.add();
  }
}
