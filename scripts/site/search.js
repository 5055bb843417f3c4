// The search box. The index is loaded as a script on first use of the box, so that it works from the file system.
(() => {
  const RESULTS_MAX = 12;
  const EXCERPT_CHARACTERS = 150;
  const base = document.body.dataset.base;
  const input = document.getElementById('search');
  const list = document.getElementById('results');
  const state = document.getElementById('search-state');
  let loading;
  let selected = -1;

  input.addEventListener('focus', () => void loadIndex());
  input.addEventListener('input', () => void show());
  input.addEventListener('keydown', onKey);
  document.addEventListener('keydown', (event) => {
    const isTyping = /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement?.tagName ?? '');
    const isCalled = (event.key === '/' && !isTyping) || (event.key === 'k' && (event.ctrlKey || event.metaKey));
    if (!isCalled) return;
    event.preventDefault();
    input.focus();
    input.select();
  });
  document.addEventListener('click', (event) => {
    if (!event.target.closest('.search')) close();
  });

  async function loadIndex() {
    loading ??= (async () => {
      await loadScript('minisearch.js');
      await loadScript('search-index.js');
      // The same fields as in scripts/site/search-index.mjs.
      const fields = ['title', 'text', 'page'];
      return window.MiniSearch.loadJSON(window.searchIndex, {
        fields,
        storeFields: ['title', 'page', 'address', 'text', 'isRow'],
        searchOptions: { boost: { title: 4, page: 2 }, prefix: true, fuzzy: (term) => (term.length > 4 ? 0.2 : false) },
      });
    })();
    return loading;
  }

  function loadScript(name) {
    return new Promise((resolve, reject) => {
      const script = document.createElement('script');
      script.src = `${base}assets/${name}`;
      script.addEventListener('load', resolve);
      script.addEventListener('error', reject);
      document.head.append(script);
    });
  }

  async function show() {
    const text = input.value.trim();
    if (text === '') {
      close();
      return;
    }
    const index = await loadIndex();
    if (input.value.trim() !== text) return;
    const every = index.search(text, { combineWith: 'AND' });
    const found = (every.length > 0 ? every : index.search(text)).slice(0, RESULTS_MAX);
    list.replaceChildren(...(found.length > 0 ? found.map(toOption) : [nothing(text)]));
    list.hidden = false;
    list.scrollTop = 0;
    input.setAttribute('aria-expanded', 'true');
    state.textContent = found.length === 0 ? 'Nothing found' : `${found.length} results`;
    select(found.length > 0 ? 0 : -1);
  }

  function toOption({ title, page, address, text, isRow, terms }, place) {
    const option = document.createElement('a');
    option.id = `result-${place}`;
    option.href = base + address;
    option.setAttribute('role', 'option');
    option.tabIndex = -1;
    if (isRow) option.className = 'row';
    const where = Object.assign(document.createElement('span'), { className: 'where', textContent: page });
    const name = document.createElement('strong');
    marked(name, title, terms);
    const excerpt = Object.assign(document.createElement('span'), { className: 'excerpt' });
    marked(excerpt, excerptOf(isRow && text.startsWith(title) ? text.slice(title.length).trim() : text, terms), terms);
    option.append(where, name, excerpt);
    option.addEventListener('mousemove', () => select(place));
    option.addEventListener('click', close);
    return option;
  }

  function nothing(text) {
    return Object.assign(document.createElement('p'), { textContent: `Nothing found for “${text}”.` });
  }

  function excerptOf(text, terms) {
    const lower = text.toLowerCase();
    const places = terms.map((term) => lower.indexOf(term)).filter((place) => place >= 0);
    const first = Math.max(0, Math.min(...places, text.length) - 50);
    const from = places.length === 0 ? 0 : first && text.indexOf(' ', first) + 1;
    const piece = text.slice(from, from + EXCERPT_CHARACTERS);
    return `${from > 0 ? '… ' : ''}${piece}${from + EXCERPT_CHARACTERS < text.length ? ' …' : ''}`;
  }

  /** Texts are only added as text, never as HTML. */
  function marked(parent, text, terms) {
    const pattern = new RegExp(
      `(${terms.map((term) => term.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&')).join('|')})`,
      'giu',
    );
    for (const [place, piece] of text.split(pattern).entries()) {
      if (place % 2 === 0) parent.append(piece);
      else parent.append(Object.assign(document.createElement('mark'), { textContent: piece }));
    }
  }

  function onKey(event) {
    const options = list.querySelectorAll('[role=option]');
    if (event.key === 'Escape') {
      close();
      input.blur();
    } else if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault();
      const step = event.key === 'ArrowDown' ? 1 : -1;
      if (options.length > 0) select((selected + step + options.length) % options.length);
    } else if (event.key === 'Enter') {
      options[selected]?.click();
    }
  }

  function select(place) {
    selected = place;
    for (const [index, option] of list.querySelectorAll('[role=option]').entries()) {
      option.setAttribute('aria-selected', String(index === place));
      if (index === place) option.scrollIntoView({ block: 'nearest' });
    }
    if (place < 0) input.removeAttribute('aria-activedescendant');
    else input.setAttribute('aria-activedescendant', `result-${place}`);
  }

  function close() {
    list.hidden = true;
    input.setAttribute('aria-expanded', 'false');
    input.removeAttribute('aria-activedescendant');
  }
})();
