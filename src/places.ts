/**
 * Where the built parts lie. Only files that stand directly in `src` may say so: they are built into one folder beside the
 * others, whether file by file or joined into a few.
 */
export const WORKER_FILE = new URL('worker.js', import.meta.url);

export const CONSOLE_FOLDER = new URL('../console/', import.meta.url);
