import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path/posix';
import { Marked } from 'marked';
import { escapeHtml, highlight } from './highlight.mjs';

/** Tables with at least this many rows get a filter box, and anchors for their rows. */
const LONG_TABLE_ROWS = 15;

/** Tables with at least this many columns need the full width. */
const WIDE_TABLE_COLUMNS = 5;

/** Ids of the page layout, see layout.mjs. */
const TAKEN_IDS = ['content', 'menu', 'search', 'results', 'search-state'];

/** A page as HTML, with its headings, its searchable parts, and the repository files that it links to. */
export function renderMarkdown(page, pages, root) {
  const state = {
    page,
    pages,
    root,
    headings: [],
    entries: [],
    files: [],
    slugs: new Map(TAKEN_IDS.map((id) => [id, 1])),
    section: undefined,
  };
  const marked = new Marked({ gfm: true, renderer: rendererOf(state) });
  const html = marked.parse(page.text);
  return { html, headings: state.headings, entries: state.entries, files: state.files };
}

function rendererOf(state) {
  const { page } = state;
  return {
    heading({ tokens, depth, text }) {
      const plain = plainText(text);
      const id = uniqueSlug(state, plain);
      state.headings.push({ id, depth, text: plain });
      state.section = { id, title: plain, text: '' };
      state.entries.push(state.section);
      const inner = this.parser.parseInline(tokens);
      if (depth === 1) return `<h1 id="${id}">${inner}</h1>\n`;
      const label = escapeHtml(`Link to “${plain}”`);
      return `<h${depth} id="${id}">${inner} <a class="permalink" href="#${id}" aria-label="${label}">#</a></h${depth}>\n`;
    },
    paragraph({ tokens, text }) {
      addText(state, text);
      const [only] = tokens;
      const inner = this.parser.parseInline(tokens);
      return tokens.length === 1 && only.type === 'image' ? inner : `<p>${inner}</p>\n`;
    },
    text(token) {
      if (token.tokens === undefined) return 'escaped' in token && token.escaped ? token.text : escapeHtml(token.text);
      addText(state, token.text);
      return this.parser.parseInline(token.tokens);
    },
    code({ text, lang }) {
      addText(state, text);
      const language = (lang ?? 'text').split(/\s/)[0];
      const name = { sh: 'Shell', js: 'JavaScript', ts: 'TypeScript', python: 'Python', json: 'JSON' }[language];
      const label = name === undefined ? '' : ` data-language="${name}"`;
      return `<div class="code"${label}><pre tabindex="0"><code class="language-${language}">${highlight(text, language)}</code></pre></div>\n`;
    },
    codespan({ text }) {
      return `<code>${withBreaks(escapeHtml(text))}</code>`;
    },
    table(token) {
      return renderTable(token, state, (tokens) => this.parser.parseInline(tokens));
    },
    list(token) {
      const isCards = token.items.every(({ tokens: [only, ...more] }) => more.length === 0 && isOneLink(only));
      const items = token.items.map((item) => `<li>${this.parser.parse(item.tokens)}</li>\n`).join('');
      if (isCards && page.address === 'index.html') return `<ul class="cards">${items}</ul>\n`;
      const start = token.start > 1 ? ` start="${token.start}"` : '';
      return token.ordered ? `<ol${start}>\n${items}</ol>\n` : `<ul>\n${items}</ul>\n`;
    },
    html({ text }) {
      if (!text.trim().startsWith('<!--')) throw new Error(`${page.source} has HTML in it: ${text.trim()}`);
      return '';
    },
    link({ href, title, tokens }) {
      const target = resolveLink(href, state);
      const rest = title ? ` title="${escapeHtml(title)}"` : '';
      const outside = /^https?:/.test(target) ? ' rel="noopener"' : '';
      return `<a href="${escapeHtml(target)}"${rest}${outside}>${this.parser.parseInline(tokens)}</a>`;
    },
    image({ href, text, title }) {
      return renderPicture({ href, text, title }, state);
    },
  };
}

function isOneLink(token) {
  return token.type === 'text' && token.tokens?.length === 1 && token.tokens[0].type === 'link';
}

function renderTable({ header, rows }, state, inline) {
  const isLong = rows.length >= LONG_TABLE_ROWS;
  const head = header.map((cell) => `<th scope="col">${inline(cell.tokens)}</th>`).join('');
  const body = rows.map((row) => {
    const cells = row.map((cell) => `<td>${inline(cell.tokens)}</td>`).join('');
    const words = row.map(({ text }) => plainText(text)).join(' ');
    const name = plainText(row[0].text);
    if (!isLong || name === '') {
      addText(state, words);
      return `<tr>${cells}</tr>`;
    }
    const id = uniqueSlug(state, name);
    state.entries.push({ id, title: name, text: words, isRow: true });
    return `<tr id="${id}">${cells}</tr>`;
  });
  const columns = header.length >= WIDE_TABLE_COLUMNS ? ' data-wide' : '';
  const table = `<div class="table"${columns} tabindex="0" role="region" aria-label="Table"><table><thead><tr>${head}</tr></thead><tbody>\n${body.join('\n')}\n</tbody></table></div>\n`;
  return isLong ? `<div class="long-table">${table}</div>\n` : table;
}

/** Drawings are inlined, so that they use the page's colors; screenshots are separate files. */
function renderPicture({ href, text, title }, state) {
  const file = join(dirname(state.page.source), href);
  const picture = file.endsWith('.svg') ? drawing(file, text, state) : photograph(file, text, state);
  const caption = title ? `<figcaption>${escapeHtml(title)}</figcaption>` : '';
  return `<figure class="picture">${picture}${caption}</figure>\n`;
}

function drawing(file, text, { root }) {
  const svg = readFileSync(join(root, file), 'utf8')
    .replace(/<\?xml[^>]*>\s*/, '')
    .replace('<svg ', `<svg role="img" aria-label="${escapeHtml(text)}" `);
  return `<div class="picture-frame" tabindex="0" role="region" aria-label="Picture">${svg}</div>`;
}

function photograph(file, text, { page, files }) {
  files.push(file);
  const address = relative(dirname(page.address), `files/${file}`);
  return `<img src="${address}" alt="${escapeHtml(text)}" loading="lazy">`;
}

function resolveLink(href, { page, pages, root, files }) {
  if (/^[a-z]+:/.test(href) || href.startsWith('#')) return href;
  const [path, anchor] = href.split('#');
  const source = join(dirname(page.source), path);
  const target = pages.find((each) => each.source === source || each.aliases.includes(source));
  const hash = anchor === undefined ? '' : `#${anchor}`;
  if (target !== undefined) return `${relative(dirname(page.address), target.address)}${hash}`;
  const file = join(root, source);
  if (!existsSync(file) || !statSync(file).isFile())
    throw new Error(`${page.source} links to ${href}, which is not there`);
  files.push(source);
  return relative(dirname(page.address), `files/${source}`);
}

function addText({ section }, text) {
  if (section !== undefined) section.text += ` ${plainText(text)}`;
}

function plainText(markdown) {
  return markdown
    .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/`+/g, '')
    .replaceAll(/\*\*?/g, '')
    .replaceAll(/\s+/g, ' ')
    .trim();
}

/** As on common code hosts, so that links work there too. */
function uniqueSlug({ slugs }, text) {
  const slug =
    text
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .trim()
      .replaceAll(/\s/g, '-') || 'part';
  const count = slugs.get(slug) ?? 0;
  slugs.set(slug, count + 1);
  if (count === 0) return slug;
  // A text may end with that number itself: `select (2)`, and the third `select`.
  const numbered = `${slug}-${count}`;
  return slugs.has(numbered) ? uniqueSlug({ slugs }, slug) : uniqueSlug({ slugs }, numbered);
}

/** Allows long names to break after dots, slashes and underscores. */
function withBreaks(html) {
  return html.length < 16 ? html : html.replaceAll(/([./_])(?=\w)/g, '$1<wbr>');
}
