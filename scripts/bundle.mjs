// Joins the service and its packages into a few files: loading them one by one takes a second at every start.
import { rmSync } from 'node:fs';
import { build } from 'esbuild';

const OUT = 'build/bundle';

rmSync(OUT, { recursive: true, force: true });
await build({
  entryPoints: ['src/main.ts', 'src/worker.ts', 'src/trial.ts'],
  outdir: OUT,
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: ['node20.19'],
  sourcemap: true,
  // Packages with native parts find them beside their own files.
  external: ['@lancedb/lancedb', 'libsql'],
  banner: {
    js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);",
  },
  logLevel: 'warning',
});
