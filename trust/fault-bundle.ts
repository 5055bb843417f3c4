import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

/** Next to the server's bundle, so that both find the same relative paths. */
const OUT = fileURLToPath(new URL('../fault-bundle/', import.meta.url));
const SOURCES = fileURLToPath(new URL('../../trust/', import.meta.url));

/** Bundles the fault server into a few files, like `scripts/bundle.mjs`: a worker then restarts in half the time. */
export async function bundleFaultServer(): Promise<string> {
  await build({
    entryPoints: {
      'fault-server': `${SOURCES}fault-server.ts`,
      'fault-worker': `${SOURCES}fault-worker.ts`,
      trial: `${SOURCES}../src/trial.ts`,
    },
    outdir: OUT,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: ['node20.19'],
    external: ['@lancedb/lancedb', 'libsql'],
    banner: {
      js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);",
    },
    logLevel: 'warning',
  });
  return `${OUT}fault-server.js`;
}
