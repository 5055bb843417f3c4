import { readFileSync } from 'node:fs';

/** The release of this package, from its package.json. */
export function readRelease(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The file is our own.
  const { version } = JSON.parse(text) as { readonly version: string };
  return version;
}

/**
 * Paths of built files. Only files directly in `src` may define them: they are built into one folder next to the others,
 * whether file by file or bundled.
 */
export const WORKER_FILE = new URL('worker.js', import.meta.url);

/** The program that opens manifests of external writers on trial. */
export const TRIAL_FILE = new URL('trial.js', import.meta.url);

export const CONSOLE_FILE = new URL('../console.json', import.meta.url);
