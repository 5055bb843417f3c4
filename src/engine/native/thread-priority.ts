import { readdir, readFile } from 'node:fs/promises';
import { getPriority, setPriority } from 'node:os';

const TASKS = '/proc/self/task';
/** Names that the engine's libraries give to their threads. */
const ENGINE_THREADS = /^(?:tokio|lance)/;
const LOOK_MILLISECONDS = 1000;

export interface ThreadPriority {
  close(): void;
}

/**
 * Lets the engine's threads stand back behind the event loop: when every processor is busy with searches, a request that
 * only has to be refused is still looked at once. A thread inherits the priority of the one that starts it, so that few are
 * found later. Only Linux gives each thread a priority of its own; elsewhere, and where it is not allowed, nothing happens.
 */
export function lowerEngineThreads(nice: number): ThreadPriority {
  if (nice === 0 || process.platform !== 'linux') return { close: () => {} };
  let known: ReadonlySet<string> = new Set();
  let isClosed = false;
  let timer: NodeJS.Timeout | undefined;
  const look = async (): Promise<void> => {
    known = await lowerNew(known, nice).catch(() => known);
    if (!isClosed) timer = setTimeout(() => void look(), LOOK_MILLISECONDS).unref();
  };
  void look();
  return {
    close() {
      isClosed = true;
      clearTimeout(timer);
    },
  };
}

/** Gives all threads that there are now: the number of one that ended may be used again. */
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
    // It has ended meanwhile, or we may not.
  }
}
