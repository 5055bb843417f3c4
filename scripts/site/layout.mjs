import { dirname, relative } from 'node:path/posix';
import { escapeHtml } from './highlight.mjs';

// Before the first paint, so that a chosen theme does not flash.
const THEME_SCRIPT =
  "try{const t=localStorage.getItem('theme');if(t==='light'||t==='dark')document.documentElement.dataset.theme=t}catch{}";

export function renderPage({ page, menu, previous, next }) {
  const from = (address) => relative(dirname(page.address), address) || page.address.split('/').at(-1);
  const base = page.address.includes('/') ? '../' : '';
  const isHome = page.address === 'index.html';
  const title = isHome ? 'Tiltyard documentation' : `${page.title} · Tiltyard`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(title)}</title>
<script>${THEME_SCRIPT}</script>
<link rel="icon" href="${base}assets/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="${base}assets/tokens.css">
<link rel="stylesheet" href="${base}assets/site.css">
<script defer src="${base}assets/site.js"></script>
<script defer src="${base}assets/search.js"></script>
</head>
<body data-base="${base}">
<a class="skip" href="#content">Skip to the text</a>
<header class="top">
<button class="menu-button" type="button" aria-controls="menu" aria-expanded="false" aria-label="Menu"><svg viewBox="0 0 20 20" width="20" height="20" aria-hidden="true"><path d="M3 5h14M3 10h14M3 15h14" stroke="currentColor" stroke-width="2" stroke-linecap="round"/></svg></button>
<a class="brand" href="${from('index.html')}"><img src="${base}assets/icon.svg" alt="" width="26" height="26"><span>Tiltyard</span></a>
<div class="search" role="search">
<input id="search" type="search" placeholder="Search the docs" aria-label="Search the documentation" autocomplete="off" spellcheck="false" role="combobox" aria-expanded="false" aria-controls="results" aria-autocomplete="list">
<kbd aria-hidden="true">/</kbd>
<div id="results" class="results" role="listbox" aria-label="Search results" hidden></div>
<div id="search-state" class="unseen" role="status"></div>
</div>
<button class="theme-button" type="button" aria-label="Theme">${themeIcons()}</button>
</header>
<div class="frame">
<nav id="menu" class="menu" aria-label="Pages">
${menu.map((group) => renderGroup(group, page, from)).join('\n')}
</nav>
<main id="content" tabindex="-1"${isWide(page) ? ' class="wide"' : ''}>
<article${isHome ? ' class="home"' : ''}>
${page.html}
</article>
${renderNeighbours(previous, next, from)}
</main>
${isWide(page) ? '' : renderContents(page.headings)}
</div>
</body>
</html>
`;
}

/** Wide tables take the space of the table of contents. */
function isWide({ html }) {
  return html.includes(' data-wide ');
}

function renderGroup({ title, pages }, current, from) {
  const links = pages.map(({ name, address }) => {
    const isCurrent = address === current.address ? ' aria-current="page"' : '';
    return `<li><a href="${from(address)}"${isCurrent}>${escapeHtml(name)}</a></li>`;
  });
  return `<section><h2>${escapeHtml(title)}</h2><ul>${links.join('')}</ul></section>`;
}

function renderContents(headings) {
  const shown = headings.filter(({ depth }) => depth === 2 || depth === 3);
  if (shown.length < 2) return '<div class="contents"></div>';
  const links = shown.map(
    ({ id, depth, text }) => `<li class="depth-${depth}"><a href="#${id}">${escapeHtml(text)}</a></li>`,
  );
  return `<nav class="contents" aria-label="On this page"><h2>On this page</h2><ul>${links.join('')}</ul></nav>`;
}

function renderNeighbours(previous, next, from) {
  const link = (page, word, relation) =>
    page === undefined
      ? '<span></span>'
      : `<a class="${relation}" rel="${relation}" href="${from(page.address)}"><small>${word}</small>${escapeHtml(page.name)}</a>`;
  return `<nav class="neighbours" aria-label="Previous and next page">${link(previous, 'Previous', 'prev')}${link(next, 'Next', 'next')}</nav>`;
}

function themeIcons() {
  const icon = (name, path) =>
    `<svg class="icon-${name}" viewBox="0 0 24 24" width="20" height="20" fill="none" stroke="currentColor" stroke-width="1.8" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">${path}</svg>`;
  return [
    icon('system', '<circle cx="12" cy="12" r="8"/><path d="M12 4v16a8 8 0 0 0 0-16Z" fill="currentColor"/>'),
    icon(
      'light',
      '<circle cx="12" cy="12" r="4"/><path d="M12 3v2m0 14v2M3 12h2m14 0h2M5.6 5.6 7 7m10 10 1.4 1.4m0-12.8L17 7M7 17l-1.4 1.4"/>',
    ),
    icon('dark', '<path d="M20 14.5A8.5 8.5 0 0 1 9.5 4 8.5 8.5 0 1 0 20 14.5Z"/>'),
  ].join('');
}
