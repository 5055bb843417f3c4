import { ServiceError } from '../../errors/service-error.ts';

export interface BudgetOptions {
  readonly bytesMax: number;
  /** Longest wait for memory. */
  readonly waitSeconds: number;
  /** Called now and then while somebody waits: the place to take memory from those who do nothing with it. */
  readonly onWaiting?: () => void;
}

const CALLED_EVERY_MILLISECONDS = 500;

interface Waiting {
  readonly account: MemoryLease;
  readonly bytes: number;
  readonly start: () => void;
  readonly refuse: (error: ServiceError) => void;
}

/**
 * Memory for bodies that arrive, of all requests together. When it is used up, nothing more is read from the sockets until
 * some is given back, so that the slowSenders wait. So that not all of them hold a part and wait for the rest, one at a time
 * gets what it needs in any case; it ends, and then the next one does.
 */
export class MemoryBudget {
  readonly #options: BudgetOptions;
  #waiting: Waiting[] = [];
  #first: MemoryLease | undefined;
  #usedBytes = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: BudgetOptions) {
    this.#options = options;
  }

  get usedBytes(): number {
    return this.#usedBytes;
  }

  get bytesMax(): number {
    return this.#options.bytesMax;
  }

  open(): MemoryLease {
    return new MemoryLease(this);
  }

  /** Without a promise when there is room. */
  take(account: MemoryLease, bytes: number): Promise<void> | undefined {
    if (this.#waiting.length === 0 && this.#fits(bytes)) this.#usedBytes += bytes;
    else if (this.#isFirst(account)) this.#usedBytes += bytes;
    else return this.#wait(account, bytes);
    return undefined;
  }

  give(bytes: number): void {
    this.#usedBytes -= bytes;
    this.#startWaiting();
  }

  /** Whoever still waits for it is told, and the next may be the first. */
  close(account: MemoryLease): void {
    const left = this.#waiting.filter((waiting) => waiting.account === account);
    this.#waiting = this.#waiting.filter((waiting) => waiting.account !== account);
    for (const waiting of left) waiting.refuse(bodyAbandoned());
    if (this.#first === account) this.#first = undefined;
    this.#startWaiting();
  }

  #fits(bytes: number): boolean {
    return this.#usedBytes + bytes <= this.#options.bytesMax;
  }

  #isFirst(account: MemoryLease): boolean {
    this.#first ??= account;
    return this.#first === account;
  }

  async #wait(account: MemoryLease, bytes: number): Promise<void> {
    const { waitSeconds } = this.#options;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting = this.#waiting.filter((each) => each !== waiting);
        reject(noMemory(waitSeconds));
      }, waitSeconds * 1000);
      const waiting: Waiting = {
        account,
        bytes,
        start: () => {
          clearTimeout(timer);
          resolve();
        },
        refuse: (error) => {
          clearTimeout(timer);
          reject(error);
        },
      };
      this.#waiting.push(waiting);
      this.#timer ??= setInterval(() => this.#lookAtWaiting(), CALLED_EVERY_MILLISECONDS).unref();
    });
  }

  #lookAtWaiting(): void {
    if (this.#waiting.length > 0) return this.#options.onWaiting?.();
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #startWaiting(): void {
    for (let [next] = this.#waiting; next !== undefined; [next] = this.#waiting) {
      if (!this.#fits(next.bytes) && !this.#isFirst(next.account)) return;
      this.#waiting.shift();
      this.#usedBytes += next.bytes;
      next.start();
    }
  }
}

/** What one request holds. Closing it gives everything back. */
export class MemoryLease {
  readonly #budget: MemoryBudget;
  #heldBytes = 0;
  #isClosed = false;

  constructor(budget: MemoryBudget) {
    this.#budget = budget;
  }

  get heldBytes(): number {
    return this.#heldBytes;
  }

  take(bytes: number): Promise<void> | undefined {
    if (this.#isClosed) throw bodyAbandoned();
    const wait = this.#budget.take(this, bytes);
    if (wait !== undefined) return this.#holdLater(wait, bytes);
    this.#hold(bytes);
    return undefined;
  }

  /** After the end nothing is held any more. */
  give(bytes: number): void {
    if (!this.#isClosed) this.#give(bytes);
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    if (this.#heldBytes > 0) this.#give(this.#heldBytes);
    this.#budget.close(this);
  }

  async #holdLater(wait: Promise<void>, bytes: number): Promise<void> {
    await wait;
    // Closed between the moment at which it was granted and this one.
    if (this.#isClosed) this.#budget.give(bytes);
    else this.#hold(bytes);
  }

  #hold(bytes: number): void {
    this.#heldBytes += bytes;
  }

  #give(bytes: number): void {
    this.#heldBytes -= bytes;
    this.#budget.give(bytes);
  }
}

function noMemory(seconds: number): ServiceError {
  return new ServiceError('ServiceUnavailable', `For ${seconds} seconds there was no memory for more of the body.`, {
    hint: 'Others are sending much at this time. Try again later.',
    retryAfterSeconds: 5,
  });
}

function bodyAbandoned(): ServiceError {
  return new ServiceError('InvalidInput', 'The connection ended before the body did.');
}
