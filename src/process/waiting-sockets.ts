import type { Socket } from 'node:net';

export interface WaitingSocketsOptions {
  readonly socketsMax: number;
  readonly waitSeconds: number;
  /** Told at most once a second: a flood of connections must not become a flood of log lines. */
  readonly onRefused: (count: number) => void;
}

interface Waiting {
  readonly socket: Socket;
  readonly expiry: NodeJS.Timeout;
  isGiven: boolean;
}

const REPORT_MILLISECONDS = 1000;

/**
 * Connections that no worker has taken yet. They are kept open here until a worker says that it has them, so that those
 * which were on their way to a worker that died go to the next one.
 */
export class WaitingSockets {
  readonly #options: WaitingSocketsOptions;
  readonly #waiting = new Map<number, Waiting>();
  #lastId = 0;
  #refused = 0;
  #report: NodeJS.Timeout | undefined;

  constructor(options: WaitingSocketsOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#waiting.size;
  }

  /** Closes the socket when too many wait, and later when it has waited too long. */
  add(socket: Socket): void {
    // A connection that breaks while it waits is noticed by whoever reads it.
    socket.on('error', ignore);
    if (this.#waiting.size >= this.#options.socketsMax) {
      this.#refuse(socket);
      return;
    }
    this.#lastId += 1;
    const id = this.#lastId;
    const expiry = setTimeout(() => this.#expire(id), this.#options.waitSeconds * 1000);
    this.#waiting.set(id, { socket, expiry, isGiven: false });
  }

  giveAll(give: (id: number, socket: Socket) => void): void {
    for (const [id, waiting] of this.#waiting) {
      if (waiting.isGiven) continue;
      waiting.isGiven = true;
      give(id, waiting.socket);
    }
  }

  /** The worker has the connection: only our own end of it is closed. */
  release(id: number): void {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) return;
    this.#waiting.delete(id);
    clearTimeout(waiting.expiry);
    waiting.socket.destroy();
  }

  /** The worker died: what it had not taken can be given again. */
  takeBack(): void {
    for (const waiting of this.#waiting.values()) waiting.isGiven = false;
  }

  closeAll(): void {
    for (const id of this.#waiting.keys()) this.release(id);
    clearTimeout(this.#report);
  }

  #expire(id: number): void {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (waiting !== undefined) this.#refuse(waiting.socket);
  }

  #refuse(socket: Socket): void {
    socket.destroy();
    this.#refused += 1;
    this.#report ??= setTimeout(() => {
      this.#options.onRefused(this.#refused);
      this.#refused = 0;
      this.#report = undefined;
    }, REPORT_MILLISECONDS);
  }
}

function ignore(): void {}
