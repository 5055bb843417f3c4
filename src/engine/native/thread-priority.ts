import { readdir, readFile } from 'node:fs/promises';
import { getPriority, setPriority } from 'node:os';

const TASKS = '/proc/self/task';
const ENGINE_THREADS = /^(?:tokio|lance)/;
const SCAN_MILLISECONDS = 1000;

/**
 * Gives the engine's threads a lower priority than the event loop: while searches use all CPUs, a request that is only
 * refused is still handled at once. A thread inherits the priority of its creator, so later scans find few new ones.
 * Only Linux has priorities per thread; elsewhere, or without permission, nothing happens.
 */
export function lowerEngineThreads(nice: number): { close(): void } {
  if (nice === 0 || process.platform !== 'linux') return { close: () => {} };
  let known: ReadonlySet<string> = new Set();
  const scan = async (): Promise<void> => {
    known = await lowerNew(known, nice).catch(() => known);
  };
  void scan();
  const timer = setInterval(() => void scan(), SCAN_MILLISECONDS).unref();
  return { close: () => clearInterval(timer) };
}

/** Returns all current thread ids: the id of an ended thread may be reused. */
async function lowerNew(known: ReadonlySet<string>, nice: number): Promise<ReadonlySet<string>> {
  const threads = await readdir(TASKS);
  for (const thread of threads) if (!known.has(thread)) await lower(thread, nice);
  return new Set(threads);
}

async function lower(thread: string, nice: number): Promise<void> {
  try {
    const name = await readFile(`${TASKS}/${thread}/comm`, 'utf8');
    const own = getPriority();
    if (ENGINE_THREADS.test(name) && getPriority(Number(thread)) === own) setPriority(Number(thread), own + nice);
  } catch {
    // The thread has ended, or permission is missing.
  }
}
