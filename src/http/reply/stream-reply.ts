import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Pace } from '../admission/slow-clients.ts';

/** A reply that has begun to come: what is there of it, and the rest. */
export interface Begun {
  readonly first: readonly Uint8Array[];
  readonly rest: AsyncIterator<Uint8Array>;
}

export interface PiecesSent {
  readonly bytes: number;
  /** Why the reply was broken off; a client that went away is no fault of ours and leaves it empty. */
  readonly failure: unknown;
}

/** A reply up to this size goes out whole, with its length, in one write. */
const WHOLE_BYTES_MAX = 64 * 1024;

/** The whole of a small reply, or the beginning of a large one. A failure until here can still be answered. */
export async function gather(pieces: AsyncIterable<Uint8Array>): Promise<Buffer | Begun> {
  const rest = pieces[Symbol.asyncIterator]();
  const first: Uint8Array[] = [];
  let length = 0;
  while (length <= WHOLE_BYTES_MAX) {
    const { done, value } = await rest.next();
    if (done === true) return Buffer.concat(first, length);
    first.push(value);
    length += value.length;
  }
  return { first, rest };
}

/**
 * Sends what comes, no faster than the client takes it. There is no other status to send any more: what fails now breaks
 * the connection, so that no client takes half a reply for a whole one.
 */
export async function sendPieces(
  response: ServerResponse,
  { first, rest }: Begun,
  idleSeconds: number,
  pace?: Pace,
): Promise<PiecesSent> {
  let bytes = 0;
  const send = async (piece: Uint8Array): Promise<void> => {
    bytes += piece.length;
    if (response.write(piece)) return;
    pace?.waits();
    await takenOrGone(response, idleSeconds);
    pace?.moves();
  };
  try {
    for (const piece of first) await send(piece);
    for (let next = await rest.next(); next.done !== true && !response.destroyed; next = await rest.next()) {
      await send(next.value);
    }
    if (response.destroyed) await rest.return?.();
    else response.end();
    return { bytes, failure: undefined };
  } catch (failure) {
    response.destroy();
    return { bytes, failure };
  }
}

/** Waits until the client has taken what was written; one that takes nothing for too long is given up. */
async function takenOrGone(response: ServerResponse, idleSeconds: number): Promise<void> {
  if (response.destroyed) return;
  const stop = new AbortController();
  const moved = new Promise<void>((resolve) => {
    response.once('drain', resolve);
    response.once('close', resolve);
    stop.signal.addEventListener('abort', () => {
      response.off('drain', resolve);
      response.off('close', resolve);
    });
  });
  const tooLong = sleep(idleSeconds * 1000, 'too long' as const, { signal: stop.signal, ref: false }).catch(() => {});
  const outcome = await Promise.race([moved, tooLong]);
  stop.abort();
  if (outcome === 'too long') response.destroy();
}
