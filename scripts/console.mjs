// Builds the web console and the API reference: one page each, their scripts in parts that load on demand, and a style
// sheet.
import { readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { brotliCompressSync, constants } from 'node:zlib';
import { build } from 'esbuild';

const OUT = 'build/console-parts';

rmSync(OUT, { recursive: true, force: true });

// The Parquet library fetches its WebAssembly by name; the server serves it from the package.
function nameWebAssembly(bundler) {
  bundler.onLoad({ filter: /parquet-wasm[\\/]esm[\\/]parquet_wasm\.js$/ }, ({ path }) => {
    return { contents: readFileSync(path, 'utf8').replace("'parquet_wasm_bg.wasm'", "'parquet.wasm'"), loader: 'js' };
  });
}

const { metafile } = await build({
  entryPoints: {
    main: 'console/src/main.tsx',
    style: 'console/styles/main.css',
    reference: 'console/src/reference/main.ts',
    'reference-style': 'console/styles/reference.css',
  },
  loader: { '.svg': 'dataurl' },
  outdir: OUT,
  bundle: true,
  splitting: true,
  format: 'esm',
  target: ['es2022'],
  jsx: 'automatic',
  jsxImportSource: 'preact',
  plugins: [{ name: 'parquet', setup: nameWebAssembly }],
  minify: true,
  sourcemap: false,
  entryNames: '[name]-[hash]',
  chunkNames: 'part-[hash]',
  metafile: true,
  logLevel: 'warning',
});

const outputOf = (source) => {
  const [path] = Object.entries(metafile.outputs).find(([, output]) => output.entryPoint === source) ?? [];
  return basename(path);
};

const files = { 'icon.svg': readFileSync('console/icon.svg') };
for (const name of readdirSync(OUT)) files[name] = readFileSync(`${OUT}/${name}`);
for (const [page, script, style] of [
  ['index.html', 'console/src/main.tsx', 'console/styles/main.css'],
  ['reference.html', 'console/src/reference/main.ts', 'console/styles/reference.css'],
]) {
  const text = readFileSync(`console/${page}`, 'utf8');
  files[page] = Buffer.from(text.replace('{{script}}', outputOf(script)).replace('{{style}}', outputOf(style)));
}

// Compressed once, here, instead of at every start of the server, and in one file, which is read once.
const quality = process.argv.includes('--quick') ? 5 : constants.BROTLI_MAX_QUALITY;
const params = { [constants.BROTLI_PARAM_QUALITY]: quality };
const compressed = Object.entries(files).map(([name, bytes]) => [
  name,
  brotliCompressSync(bytes, { params }).toString('base64'),
]);
writeFileSync('build/console.json', JSON.stringify(Object.fromEntries(compressed)));
rmSync(OUT, { recursive: true });
