// Builds the documentation site from docs/ and the other pages: node scripts/site.mjs [--out DIR]
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { renderPage } from './site/layout.mjs';
import { renderMarkdown } from './site/markdown.mjs';
import { readMenu } from './site/menu.mjs';
import { searchScript } from './site/search-index.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const out = resolve(valueAfter('--out') ?? join(root, 'build/site'));
const started = Date.now();

const menu = readMenu(root);
const pages = menu.flatMap(({ pages: inGroup }) => inGroup);
const rendered = pages.map((page) => ({ ...page, ...renderMarkdown(page, pages, root) }));

rmSync(out, { recursive: true, force: true });
for (const [index, page] of rendered.entries()) {
  const neighbours = { previous: rendered[index - 1], next: rendered[index + 1] };
  write(page.address, renderPage({ page, menu, ...neighbours }));
}
write('assets/search-index.js', searchScript(rendered));
for (const name of ['site.css', 'site.js', 'search.js']) copy(join(root, 'scripts/site', name), `assets/${name}`);
for (const name of ['styles/tokens.css', 'icon.svg']) copy(join(root, 'console', name), `assets/${basename(name)}`);
copy(join(root, 'node_modules/minisearch/dist/umd/index.js'), 'assets/minisearch.js');
for (const file of new Set(rendered.flatMap(({ files }) => files))) copy(join(root, file), join('files', file));
console.log(`${rendered.length} pages in ${out} (${Date.now() - started} ms); open index.html`);

function write(address, text) {
  mkdirSync(dirname(join(out, address)), { recursive: true });
  writeFileSync(join(out, address), text);
}

function copy(from, address) {
  mkdirSync(dirname(join(out, address)), { recursive: true });
  cpSync(from, join(out, address));
}

function valueAfter(flag) {
  const place = process.argv.indexOf(flag);
  return place === -1 ? undefined : process.argv[place + 1];
}
