import { readFileSync } from 'node:fs';

/** The release of this package, as its description says. */
export function readRelease(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The file is our own.
  const { version } = JSON.parse(text) as { readonly version: string };
  return version;
}

/**
 * Where the built parts lie. Only files that stand directly in `src` may say so: they are built into one folder beside the
 * others, whether file by file or joined into a few.
 */
export const WORKER_FILE = new URL('worker.js', import.meta.url);

/** Of the process that opens manifests of external writers on trial. */
export const TRIAL_FILE = new URL('trial.js', import.meta.url);

export const CONSOLE_FILE = new URL('../console.json', import.meta.url);
