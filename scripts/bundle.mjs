// Bundles the service and its packages into a few files: loading them one by one takes a second at every start.
import { readFileSync, rmSync } from 'node:fs';
import { build } from 'esbuild';
import { spreadObjects } from './spread-objects.mjs';

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
  // Otherwise a regular expression such as /\p{L}/u becomes a `new RegExp`, which is compiled whenever it is used.
  supported: { 'regexp-unicode-property-escapes': true },
  sourcemap: true,
  // For a smaller package. Nothing else is minified: stack traces need the names, and oidc-provider its class names.
  minifyWhitespace: true,
  // Packages with native parts or WebAssembly find them next to their own files. Only these are dependencies in
  // package.json.
  external: ['libsql', 'parquet-wasm'],
  plugins: [
    { name: 'machine-id', setup: leaveOutMachineId },
    { name: 'schema-compilers', setup: leaveOutSchemaCompilers },
    { name: 'runtime-warning', setup: leaveOutRuntimeWarning },
    { name: 'spread-objects', setup: spreadObjects },
  ],
  banner: {
    js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);",
  },
  logLevel: 'warning',
});

/** A part of OpenTelemetry that is not used here, in fifteen files. */
function leaveOutMachineId(bundler) {
  bundler.onResolve({ filter: /\/getMachineId-/ }, () => ({ path: 'none', namespace: 'machine-id' }));
  bundler.onLoad({ filter: /.*/, namespace: 'machine-id' }, () => ({
    contents: 'export const getMachineId = async () => undefined;',
  }));
}

/** Fastify loads these for routes with schemas, which the server does not have. They are a tenth of the bundle of the worker. */
function leaveOutSchemaCompilers(bundler) {
  bundler.onResolve({ filter: /^@fastify\/(?:ajv|fast-json-stringify)-compiler$/ }, ({ path }) => ({
    path,
    namespace: 'schema-compilers',
  }));
  bundler.onLoad({ filter: /.*/, namespace: 'schema-compilers' }, ({ path }) => ({
    contents: `throw new Error('${path} is not part of the bundle.');`,
    loader: 'js',
  }));
}

/**
 * oidc-provider warns on every Node release other than the newest LTS. The tests also run the used parts on Node 20.
 */
function leaveOutRuntimeWarning(bundler) {
  bundler.onLoad({ filter: /oidc-provider[\\/]lib[\\/]index\.js$/ }, ({ path }) => {
    const source = readFileSync(path, 'utf8');
    const contents = source.replace(/^if \(deno [^}]*Unsupported runtime[^}]*\}$/m, '');
    if (contents === source) throw new Error('oidc-provider has another check of the runtime: see scripts/bundle.mjs.');
    return { contents, loader: 'js' };
  });
}
