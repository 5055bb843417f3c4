import type { Socket } from 'node:net';

export interface ConnectionsOptions {
  readonly connectionsMax: number;
  /** Told at most once a second: a flood of connections must not become a flood of log lines. */
  readonly onRefused: (count: number) => void;
}

const REPORT_MILLISECONDS = 1000;

/** Counts the connections that the server holds. */
export class Connections {
  readonly #options: ConnectionsOptions;
  #open = 0;
  #refused = 0;
  #report: NodeJS.Timeout | undefined;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
  }

  get open(): number {
    return this.#open;
  }

  /** False, and the connection is closed, when there are too many already. */
  admit(socket: Socket): boolean {
    if (this.#open >= this.#options.connectionsMax) {
      this.#refuse(socket);
      return false;
    }
    this.#open += 1;
    socket.once('close', () => {
      this.#open -= 1;
    });
    return true;
  }

  #refuse(socket: Socket): void {
    // Nobody else looks at a socket that is not admitted.
    socket.on('error', ignore);
    socket.destroy();
    this.#refused += 1;
    if (this.#report !== undefined) return;
    this.#report = setTimeout(() => {
      this.#options.onRefused(this.#refused);
      this.#refused = 0;
      this.#report = undefined;
    }, REPORT_MILLISECONDS).unref();
  }
}

function ignore(): void {}
