// Builds the web console: one page, its script in parts that load when a view needs them, and one style sheet.
import { copyFileSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { brotliCompressSync } from 'node:zlib';
import { build } from 'esbuild';

const OUT = 'build/console';

rmSync(OUT, { recursive: true, force: true });
mkdirSync(OUT, { recursive: true });

const { metafile } = await build({
  entryPoints: { main: 'console/src/main.tsx', style: 'console/styles/main.css' },
  outdir: OUT,
  bundle: true,
  splitting: true,
  format: 'esm',
  target: ['es2022'],
  jsx: 'automatic',
  jsxImportSource: 'preact',
  // WebAssembly, which the console's content security policy refuses.
  alias: { hysnappy: './console/src/load/snappy.ts' },
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

const page = readFileSync('console/index.html', 'utf8')
  .replace('{{script}}', outputOf('console/src/main.tsx'))
  .replace('{{style}}', outputOf('console/styles/main.css'));
writeFileSync(`${OUT}/index.html`, page);
copyFileSync('console/icon.svg', `${OUT}/icon.svg`);

// Compressed once, here, rather than at every start of the server.
for (const name of readdirSync(OUT))
  writeFileSync(`${OUT}/${name}.br`, brotliCompressSync(readFileSync(`${OUT}/${name}`)));
