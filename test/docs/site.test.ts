import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { anchorsOf, buildSite, linksOf } from './built-site.ts';
import type { BuiltSite } from './built-site.ts';

let site: BuiltSite;

before(async () => {
  site = await buildSite();
});

after(async () => site.remove());

test('every link of the documentation site leads somewhere', () => {
  const broken = [];
  for (const [page, html] of site.pages)
    for (const { written, file, anchor } of linksOf(page, html)) {
      if (!site.files.has(file)) broken.push(`${page}: ${written}`);
      else if (anchor !== undefined && !anchorsOf(site.pages.get(file) ?? '').has(anchor))
        broken.push(`${page}: ${written} (no such place in the page)`);
    }
  assert.deepEqual(broken, []);
});

test('every page of docs/ is on the site and can be reached from its start', () => {
  const reached = new Set<string>();
  const visit = (page: string): void => {
    if (reached.has(page)) return;
    reached.add(page);
    for (const { file } of linksOf(page, site.pages.get(page) ?? '')) if (site.pages.has(file)) visit(file);
  };
  visit('index.html');
  const sources = readdirSync('docs', { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.md'));
  for (const source of sources) assert.ok(reached.has(source.replace(/\.md$/, '.html')), `${source} is not reached`);
  assert.deepEqual([...reached].toSorted(), [...site.pages.keys()].toSorted());
});

test('links between the Markdown files hold in the repository, too', () => {
  const markdown = [
    ...readdirSync('docs', { recursive: true, encoding: 'utf8' }).map((file) => `docs/${file}`),
    'README.md',
  ];
  for (const file of markdown.filter((name) => name.endsWith('.md')))
    for (const found of readFileSync(file, 'utf8').matchAll(/\]\(([^)#\s]+)(?:#[^)\s]*)?\)/g)) {
      const target = found[1] ?? '';
      if (/^https?:/.test(target)) continue;
      assert.doesNotThrow(() => readFileSync(join(file, '..', target)), `${file} links to ${target}`);
    }
});

test('no page asks for anything outside the site', () => {
  for (const [page, html] of site.pages) {
    const asked = [...html.matchAll(/<(?:script|link|img|iframe)[^>]+(?:src|href)="(https?:[^"]*)"/g)];
    assert.deepEqual(asked, [], page);
  }
  for (const asset of ['site.css', 'site.js', 'search.js'])
    assert.doesNotMatch(readFileSync(join(site.folder, 'assets', asset), 'utf8'), /https?:|@import|fetch\(/, asset);
});

test('every page has one heading of the first order, a language, landmarks and a way around the menu', () => {
  for (const [page, html] of site.pages) {
    assert.equal(html.match(/<h1[ >]/g)?.length, 1, page);
    for (const part of ['<html lang="en">', '<main id="content"', '<nav id="menu"', 'class="skip" href="#content"'])
      assert.ok(html.includes(part), `${page} lacks ${part}`);
    const ids = [...html.matchAll(/\sid="([^"]+)"/g)].map((found) => found[1]);
    assert.equal(new Set(ids).size, ids.length, `${page} has an id twice`);
  }
});

test('every picture says in words what it shows', () => {
  for (const [page, html] of site.pages)
    for (const found of html.matchAll(/<figure[\s\S]*?<(?:svg|img) ([^>]*)>/g))
      assert.match(found[1] ?? '', /(?:aria-label|alt)="[^"]{20,}"/, page);
});
