import { ServiceError } from '../../errors/service-error.ts';
import type { QueryLimits } from '../../model/limits.ts';
import { CallerCounts } from '../../model/limits/caller-counts.ts';
import { SERVICE } from '../native/query-deadline.ts';
import type { QueryTimeout } from '../native/query-deadline.ts';

export type ReadMemoryLimits = Pick<
  QueryLimits,
  'memoryBytesMax' | 'memoryPerCallerBytesMax' | 'memoryPerRequestBytesMax' | 'memoryWaitSeconds' | 'residentBytesMax'
>;

type LeasingClient = Pick<QueryTimeout, 'signal'>;

/** A read that waits for memory. */
interface Claim {
  readonly bytes: number;
  readonly grant: () => void;
}

/** Batches that a scan computes ahead of its reader: 24 batches of 12.8 MB have been observed. */
export const BATCHES_AHEAD = 24;

/** For analyses of slow queries in the background: larger ones are skipped. */
const SERVICE_SHARE = 0.25;

/** Reads below this size run even while the process exceeds its memory limit. */
const LARGE_BYTES = 64 * 1024 * 1024;

/**
 * Memory budget for reads, by estimate. Each caller has a share that leaves room for others; reads that do not fit wait
 * briefly, callers in round-robin. Estimates can be wrong, so above a resident size large reads run one at a time.
 */
export class ReadMemory {
  readonly limits: ReadMemoryLimits;
  readonly #residentBytes: () => number;
  readonly #usedBytes = new CallerCounts();
  /** In round-robin order; no list is empty. */
  readonly #waiting = new Map<string, Claim[]>();
  #refused = 0;

  constructor(limits: ReadMemoryLimits, residentBytes = (): number => process.memoryUsage.rss()) {
    this.limits = limits;
    this.#residentBytes = residentBytes;
  }

  get usedBytes(): number {
    return this.#usedBytes.total;
  }

  /** Reads that timed out while waiting, since the start. */
  get refused(): number {
    return this.#refused;
  }

  /** The signal of the client, which fires when it disconnects, is read only when the lease has to wait. */
  lease(caller: string, client?: LeasingClient): ReadLease {
    return new ReadLease(this, caller, client);
  }

  /** Returns no promise while memory is free. */
  take(caller: string, bytes: number, client: LeasingClient | undefined): Promise<void> | undefined {
    // A waiting claim of this caller cannot fit: each release starts all claims that fit.
    if (this.#fits(caller, bytes)) {
      this.add(caller, bytes);
      return undefined;
    }
    return this.#wait(caller, bytes, client?.signal());
  }

  /** Accounts for memory that is already in use, or, if negative, no longer. */
  add(caller: string, bytes: number): void {
    this.#usedBytes.add(caller, bytes);
    if (bytes < 0) this.#startWaiting();
  }

  /** A caller, or the service, without any other read gets what it asks for: it would never fit better. */
  #fits(caller: string, bytes: number): boolean {
    const { memoryBytesMax, memoryPerCallerBytesMax, residentBytesMax } = this.limits;
    const used = this.#usedBytes.of(caller);
    if (caller === SERVICE) {
      if (used + bytes > memoryBytesMax * SERVICE_SHARE) return false;
    } else if (used > 0 && used + bytes > memoryPerCallerBytesMax) return false;
    const { total } = this.#usedBytes;
    if (total === 0) return true;
    return total + bytes <= memoryBytesMax && (bytes < LARGE_BYTES || this.#residentBytes() <= residentBytesMax);
  }

  async #wait(caller: string, bytes: number, signal: AbortSignal | undefined): Promise<void> {
    const { memoryWaitSeconds } = this.limits;
    return new Promise<void>((resolve, reject) => {
      const end = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', onAbort);
      };
      const refuse = (error: ServiceError): void => {
        end();
        this.#remove(caller, claim);
        reject(error);
      };
      const onAbort = (): void => refuse(callerLeft());
      const claim: Claim = {
        bytes,
        grant: () => {
          end();
          this.add(caller, bytes);
          resolve();
        },
      };
      const timer = setTimeout(() => {
        this.#refused += 1;
        refuse(this.#noMemory(caller));
      }, memoryWaitSeconds * 1000);
      const own = this.#waiting.get(caller);
      if (own === undefined) this.#waiting.set(caller, [claim]);
      else own.push(claim);
      signal?.addEventListener('abort', onAbort, { once: true });
      if (signal?.aborted === true) onAbort();
    });
  }

  #remove(caller: string, claim: Claim): void {
    const left = (this.#waiting.get(caller) ?? []).filter((each) => each !== claim);
    if (left.length > 0) this.#waiting.set(caller, left);
    else this.#waiting.delete(caller);
  }

  /** Grants the first claim of each caller in turn; a grant moves its caller to the end. */
  #startWaiting(): void {
    for (const [caller, [claim, ...others]] of this.#waiting) {
      if (claim === undefined || !this.#fits(caller, claim.bytes)) continue;
      this.#waiting.delete(caller);
      if (others.length > 0) this.#waiting.set(caller, others);
      claim.grant();
    }
  }

  #noMemory(caller: string): ServiceError {
    const isOwn = this.#usedBytes.of(caller) > this.#usedBytes.total / 2;
    const whose = isOwn ? 'Other queries of this caller' : 'Queries of other callers';
    return new ServiceError('ServiceUnavailable', `${whose} use the memory that this query needs.`, {
      hint: 'Try again after the time in Retry-After, send fewer queries at once, or request fewer rows or columns.',
      retryAfterSeconds: 1,
    });
  }
}

/** The memory of one read. Closing it returns everything, once. */
export class ReadLease {
  readonly #memory: ReadMemory;
  readonly #caller: string;
  readonly #client: LeasingClient | undefined;
  #heldBytes = 0;
  #isClosed = false;
  #reservedBytes = 0;
  #resultBytes = 0;
  #sentBytes = 0;

  constructor(memory: ReadMemory, caller: string, client: LeasingClient | undefined) {
    this.#memory = memory;
    this.#caller = caller;
    this.#client = client;
  }

  get heldBytes(): number {
    return this.#heldBytes;
  }

  /**
   * Call it before execution. A repeated call, when a query runs again, takes only the missing part. The engine keeps
   * `resultBytes` until they are returned; 0 for a scan, which streams its rows.
   */
  reserve(bytes: number, resultBytes: number): Promise<void> | undefined {
    this.#reservedBytes = bytes;
    this.#resultBytes = resultBytes;
    this.#sentBytes = 0;
    const missing = bytes - this.#heldBytes;
    if (missing <= 0 || this.#isClosed) return undefined;
    const waiting = this.#memory.take(this.#caller, missing, this.#client);
    if (waiting !== undefined) return waiting.then(() => this.#granted(missing));
    this.#heldBytes += missing;
    return undefined;
  }

  /** A batch was returned. A kept result shrinks with each batch; a scan has several batches of that size ahead. */
  observe(batchBytes: number): void {
    this.#sentBytes += batchBytes;
    const left = this.#resultBytes === 0 ? 1 : Math.max(0, 1 - this.#sentBytes / this.#resultBytes);
    const ahead = this.#resultBytes === 0 ? BATCHES_AHEAD : 1;
    this.resize(Math.max(Math.ceil(this.#reservedBytes * left), ahead * batchBytes));
  }

  /** Adjusts the lease during execution to the observed size. Never waits, because the memory is already in use. */
  resize(bytes: number): void {
    if (this.#isClosed || bytes === this.#heldBytes) return;
    const change = bytes - this.#heldBytes;
    this.#heldBytes = bytes;
    this.#memory.add(this.#caller, change);
  }

  close(): void {
    if (this.#heldBytes > 0) this.resize(0);
    this.#isClosed = true;
  }

  #granted(bytes: number): void {
    // Closed while it was waiting: nothing will use it.
    if (this.#isClosed) this.#memory.add(this.#caller, -bytes);
    else this.#heldBytes += bytes;
  }
}

function callerLeft(): ServiceError {
  return new ServiceError('ServiceUnavailable', 'The client disconnected before there was memory for the query.');
}
