import { readFileSync } from 'node:fs';

/** The release of this package, as its description says. */
export function readRelease(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The file is our own.
  const { version } = JSON.parse(text) as { readonly version: string };
  return version;
}
