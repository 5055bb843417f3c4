import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

export interface PieceSending {
  readonly pieces: AsyncIterable<Uint8Array>;
  /** How long a client may take no byte before it is given up. */
  readonly idleSeconds: number;
}

export interface PiecesSent {
  readonly bytes: number;
  /** Why the reply was broken off; a client that went away is no fault of ours and leaves it empty. */
  readonly failure: unknown;
}

/**
 * Sends what comes, no faster than the client takes it. After the first byte there is no other status to send: what fails
 * then breaks the connection, so that no client takes half a reply for a whole one.
 */
export async function sendPieces(response: ServerResponse, sending: PieceSending): Promise<PiecesSent> {
  let bytes = 0;
  try {
    for await (const piece of sending.pieces) {
      if (response.destroyed) break;
      bytes += piece.length;
      if (!response.write(piece)) await takenOrGone(response, sending.idleSeconds);
    }
    if (!response.destroyed) response.end();
    return { bytes, failure: undefined };
  } catch (failure) {
    response.destroy();
    return { bytes, failure };
  }
}

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
