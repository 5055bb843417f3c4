import { MessageChannel } from 'node:worker_threads';

/** Below this the collector's own way is cheaper. */
const BYTES_MIN = 16 * 1024;

/** Nobody listens: what is handed over is dropped at once. Later versions of JavaScript could do without, by `transfer(0)`. */
const nowhere = openClosedPort();

/**
 * Frees memory without waiting for the garbage collector. By itself it would look through everything once for every 64 MiB
 * received, or, when it has no time, let a gigabyte of what is no longer needed lie. Memory that others share is left alone.
 */
export function freeMemory({ buffer, byteLength }: Uint8Array): void {
  if (byteLength < BYTES_MIN || byteLength !== buffer.byteLength || !(buffer instanceof ArrayBuffer)) return;
  nowhere.postMessage(undefined, [buffer]);
}

function openClosedPort(): MessageChannel['port1'] {
  const { port1 } = new MessageChannel();
  port1.close();
  return port1;
}
