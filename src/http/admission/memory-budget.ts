import type { BufferPool, ChunkMemory } from '../../arrow/stream/buffer-pool.ts';
import { ServiceError, invalidInput } from '../../errors/service-error.ts';

interface MemoryBudgetOptions {
  readonly bytesMax: number;
  readonly bytesPerCallerMax: number;
  /** Longest wait for memory. */
  readonly waitSeconds: number;
  /** Called repeatedly while a request waits, so that clients that hold memory but send nothing may be evicted. */
  readonly onWaiting?: () => void;
}

/** The first bytes of each body are not counted, so that small requests do not wait for memory that large ones hold. */
export const UNCOUNTED_BYTES = 64 * 1024;

const WAITING_MILLISECONDS = 500;

/** The memory of a caller, with its leases in the order in which they began to hold memory. */
interface Holding {
  bytes: number;
  readonly leases: Set<MemoryLease>;
}

interface Waiting {
  readonly lease: MemoryLease;
  readonly bytes: number;
  readonly start: () => void;
  readonly refuse: (error: ServiceError) => void;
}

/**
 * Memory budget for the bodies of all requests. When it is used up, sockets are not read until memory is released,
 * which puts back-pressure on the senders. Released memory goes to the caller who holds least. To rule out a deadlock
 * of requests that each hold a part and wait for the rest, one lease at a time may exceed the budget, and one lease of
 * each caller its share.
 */
export class MemoryBudget {
  readonly bytesMax: number;
  readonly #options: MemoryBudgetOptions;
  readonly #holdings = new Map<string, Holding>();
  #waiting: Waiting[] = [];
  #mayExceed: MemoryLease | undefined;
  #usedBytes = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: MemoryBudgetOptions) {
    this.bytesMax = options.bytesMax;
    this.#options = options;
  }

  get usedBytes(): number {
    return this.#usedBytes;
  }

  /** `signal` fires when the client disconnects, which closes a waiting lease. */
  lease(caller: string, signal?: () => AbortSignal): MemoryLease {
    return new MemoryLease(this, caller, signal);
  }

  /** Returns no promise while memory is free. */
  take(lease: MemoryLease, bytes: number): Promise<void> | undefined {
    const isFirst = this.#waiting.length === 0 || this.#mayExceed === lease;
    if (isFirst && this.#isWithinShare(lease, bytes) && this.#isAvailable(lease, bytes)) {
      this.#count(lease, bytes);
      return undefined;
    }
    const granted = this.#wait(lease, bytes);
    // The waiting leases may belong to callers who have used up their shares, so start this one if it fits.
    this.#startWaiting();
    return granted;
  }

  give(lease: MemoryLease, bytes: number): void {
    this.#count(lease, -bytes);
    this.#startWaiting();
  }

  close(lease: MemoryLease): void {
    const own = this.#waiting.filter((waiting) => waiting.lease === lease);
    this.#waiting = this.#waiting.filter((waiting) => waiting.lease !== lease);
    for (const waiting of own) waiting.refuse(bodyEnded());
    if (this.#mayExceed === lease) this.#mayExceed = undefined;
    this.give(lease, lease.heldBytes);
  }

  #isAvailable(lease: MemoryLease, bytes: number): boolean {
    if (this.#usedBytes + bytes <= this.bytesMax) return true;
    this.#mayExceed ??= lease;
    return this.#mayExceed === lease;
  }

  #isWithinShare(lease: MemoryLease, bytes: number): boolean {
    const holding = this.#holdings.get(lease.caller);
    if (holding === undefined || holding.bytes + bytes <= this.#options.bytesPerCallerMax) return true;
    const [oldest] = holding.leases;
    return lease === oldest || lease === this.#mayExceed;
  }

  #count(lease: MemoryLease, bytes: number): void {
    const holding = this.#holdings.get(lease.caller) ?? { bytes: 0, leases: new Set() };
    this.#usedBytes += bytes;
    holding.bytes += bytes;
    lease.heldBytes += bytes;
    if (lease.heldBytes > 0) holding.leases.add(lease);
    else holding.leases.delete(lease);
    if (holding.leases.size > 0) this.#holdings.set(lease.caller, holding);
    else this.#holdings.delete(lease.caller);
  }

  async #wait(lease: MemoryLease, bytes: number): Promise<void> {
    this.#timer ??= setInterval(() => this.#checkWaiting(), WAITING_MILLISECONDS).unref();
    const { waitSeconds } = this.#options;
    const clientLeft = lease.signal?.();
    const close = (): void => lease.close();
    let timer: NodeJS.Timeout | undefined;
    const granted = new Promise<void>((resolve, reject) => {
      const waiting = { lease, bytes, start: resolve, refuse: reject };
      this.#waiting.push(waiting);
      timer = setTimeout(() => {
        this.#waiting = this.#waiting.filter((each) => each !== waiting);
        reject(noMemory(waitSeconds));
      }, waitSeconds * 1000);
    });
    clientLeft?.addEventListener('abort', close);
    if (clientLeft?.aborted === true) close();
    return granted.finally(() => {
      clearTimeout(timer);
      clientLeft?.removeEventListener('abort', close);
    });
  }

  #checkWaiting(): void {
    if (this.#waiting.length > 0) return this.#options.onWaiting?.();
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #startWaiting(): void {
    for (let next = this.#nextWaiting(); next !== undefined; next = this.#nextWaiting()) {
      if (!this.#isAvailable(next.lease, next.bytes)) return;
      this.#waiting.splice(this.#waiting.indexOf(next), 1);
      this.#count(next.lease, next.bytes);
      next.start();
    }
  }

  /** Among callers that hold equally much, the one that has waited longest. */
  #nextWaiting(): Waiting | undefined {
    let next: Waiting | undefined;
    let least = Infinity;
    for (const waiting of this.#waiting) {
      const held = this.#holdings.get(waiting.lease.caller)?.bytes ?? 0;
      if (held >= least || !this.#isWithinShare(waiting.lease, waiting.bytes)) continue;
      next = waiting;
      least = held;
    }
    return next;
  }
}

/** The memory of one request. Closing it releases everything. */
export class MemoryLease {
  readonly caller: string;
  readonly signal: (() => AbortSignal) | undefined;
  readonly #budget: MemoryBudget;
  #isClosed = false;
  /** Maintained by the budget. */
  heldBytes = 0;

  constructor(budget: MemoryBudget, caller: string, signal: (() => AbortSignal) | undefined) {
    this.#budget = budget;
    this.caller = caller;
    this.signal = signal;
  }

  take(bytes: number): Promise<void> | undefined {
    if (this.#isClosed) throw bodyEnded();
    return this.#budget.take(this, bytes);
  }

  /** Does nothing if the lease is closed. */
  give(bytes: number): void {
    if (!this.#isClosed) this.#budget.give(this, bytes);
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#budget.close(this);
  }
}

/**
 * Chunk buffers of one body. Each is leased while it is in use, by its capacity, not by its content. Other memory that
 * the body reserves is leased too.
 */
export function leaseChunks(pool: BufferPool, lease: MemoryLease): ChunkMemory {
  let reservedBytes = 0;
  /** Returns by how many bytes the counted memory has grown. */
  const changeReserved = (bytes: number): number => {
    const before = Math.max(0, reservedBytes - UNCOUNTED_BYTES);
    reservedBytes += bytes;
    return Math.max(0, reservedBytes - UNCOUNTED_BYTES) - before;
  };
  return {
    async take(bytes) {
      const size = pool.sizeFor(bytes);
      if (size > UNCOUNTED_BYTES) await lease.take(size);
      return pool.take(bytes);
    },
    give(buffer) {
      const size = buffer.length;
      pool.give(buffer);
      if (size > UNCOUNTED_BYTES) lease.give(size);
    },
    reserve(bytes) {
      const counted = changeReserved(bytes);
      return counted === 0 ? undefined : lease.take(counted);
    },
    endReservation(bytes) {
      const counted = changeReserved(-bytes);
      if (counted !== 0) lease.give(-counted);
    },
  };
}

function noMemory(seconds: number): ServiceError {
  return new ServiceError('ServiceUnavailable', `There was no memory for the rest of the body within ${seconds} s.`, {
    hint: 'Other requests are using it. Try again later.',
    retryAfterSeconds: 5,
  });
}

function bodyEnded(): ServiceError {
  return invalidInput('The connection was closed before the body was complete.');
}
