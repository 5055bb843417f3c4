import { MessageChannel } from 'node:worker_threads';

/** Below this the collector's own way is cheaper. */
const BYTES_MIN = 16 * 1024;

/** Nobody listens: what is handed over is dropped at once. Later versions of JavaScript could do without, by `transfer(0)`. */
const nowhere = openClosedPort();

/**
 * Frees a piece of a body without waiting for the garbage collector. It counts such memory towards its next full run, and
 * by itself would look through everything once for every 64 MiB received. Memory that others share is left alone.
 */
export function freePiece({ buffer, byteLength }: Uint8Array): void {
  if (byteLength < BYTES_MIN || byteLength !== buffer.byteLength || !(buffer instanceof ArrayBuffer)) return;
  nowhere.postMessage(undefined, [buffer]);
}

function openClosedPort(): MessageChannel['port1'] {
  const { port1 } = new MessageChannel();
  port1.close();
  return port1;
}
