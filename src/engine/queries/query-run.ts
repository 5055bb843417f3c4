import { QueryDeadline } from '../native/query-deadline.ts';
import type { QueryTimeout } from '../native/query-deadline.ts';
import type { EngineParts } from '../parts.ts';
import type { ReadLease } from './read-memory.ts';

/** The deadline of a query, and the memory that it holds. */
export interface QueryRun {
  readonly deadline: QueryDeadline;
  readonly lease: ReadLease;
  readonly timeout: QueryTimeout | undefined;
}

/** A query whose result is one value. */
export async function runOnce<Value>(
  parts: EngineParts,
  timeout: QueryTimeout | undefined,
  work: (run: QueryRun) => Promise<Value>,
): Promise<Value> {
  const run = beginRun(parts, timeout);
  const value = await waitFor(run, work(run));
  run.lease.close();
  return value;
}

export function beginRun({ querySeconds, orphans, memory }: EngineParts, timeout: QueryTimeout | undefined): QueryRun {
  const deadline = new QueryDeadline(querySeconds, orphans, timeout);
  return { deadline, timeout, lease: memory.lease(deadline.caller, timeout) };
}

/** An orphaned query holds its memory until it ends. */
export async function waitFor<Value>({ deadline, lease }: QueryRun, work: Promise<Value>): Promise<Value> {
  try {
    return await deadline.wait(work);
  } catch (error) {
    deadline.whenOver(() => lease.close());
    throw error;
  }
}

/** Holds the lease until the last file is read, the reader stops, or the orphaned call has ended. */
export function leaseFiles(
  { deadline, lease, timeout }: QueryRun,
  files: AsyncIterable<Buffer>,
): AsyncIterable<Buffer> {
  if (lease.heldBytes === 0) return files;
  const release = (): void => deadline.whenOver(() => lease.close());
  // A reply that ends before its first file was requested never stops the reader. `setImmediate` lets the deadline see
  // it first.
  timeout?.signal().addEventListener('abort', () => setImmediate(release), { once: true });
  return {
    [Symbol.asyncIterator]() {
      const iterator = files[Symbol.asyncIterator]();
      return {
        async next() {
          try {
            const next = await iterator.next();
            if (next.done === true) release();
            else lease.observe(next.value.length);
            return next;
          } catch (error) {
            release();
            throw error;
          }
        },
        async return() {
          await iterator.return?.();
          release();
          return { done: true, value: undefined };
        },
      };
    },
  };
}
