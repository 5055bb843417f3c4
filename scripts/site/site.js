// Page behavior other than search: theme, menu, copy buttons, table filters, the position in the table of contents.
(() => {
  const root = document.documentElement;

  const themeButton = document.querySelector('.theme-button');
  const THEMES = ['system', 'light', 'dark'];
  const showTheme = () => {
    const name = root.dataset.theme ?? 'system';
    themeButton.setAttribute('aria-label', `Theme: ${name}`);
    themeButton.title = `Theme: ${name}`;
  };
  const applyTheme = (name) => {
    if (name === 'system') delete root.dataset.theme;
    else root.dataset.theme = name;
    showTheme();
  };
  themeButton.addEventListener('click', () => {
    const next = THEMES[(THEMES.indexOf(root.dataset.theme ?? 'system') + 1) % THEMES.length];
    applyTheme(next);
    try {
      localStorage.setItem('theme', next);
    } catch {
      // Without storage, the choice applies to this page only.
    }
  });
  // Applies the choice to other open pages, including one that was opened before the choice was stored.
  window.addEventListener('storage', ({ key, newValue }) => {
    if (key === 'theme' && THEMES.includes(newValue)) applyTheme(newValue);
  });
  showTheme();

  const menuButton = document.querySelector('.menu-button');
  const menu = document.querySelector('.menu');
  const openMenu = (isOpen) => {
    menu.classList.toggle('open', isOpen);
    menuButton.setAttribute('aria-expanded', String(isOpen));
  };
  menuButton.addEventListener('click', () => openMenu(!menu.classList.contains('open')));
  document.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape' || !menu.classList.contains('open')) return;
    openMenu(false);
    menuButton.focus();
  });
  // Not scrollIntoView: the next Tab would start from there, past the skip link.
  const current = menu.querySelector('[aria-current]');
  if (current !== null && current.offsetTop > menu.clientHeight) menu.scrollTop = current.offsetTop - 200;

  for (const block of document.querySelectorAll('.code')) {
    const button = document.createElement('button');
    button.className = 'copy';
    button.type = 'button';
    button.textContent = 'Copy';
    button.addEventListener('click', () => void copyCode(block, button));
    block.append(button);
  }

  async function copyCode(block, button) {
    button.textContent = (await copyText(block.querySelector('code').textContent)) ? 'Copied' : 'Not copied';
    setTimeout(() => {
      button.textContent = 'Copy';
    }, 1500);
  }

  async function copyText(text) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      const area = document.createElement('textarea');
      area.value = text;
      document.body.append(area);
      area.select();
      const isCopied = document.execCommand('copy');
      area.remove();
      return isCopied;
    }
  }

  for (const part of document.querySelectorAll('.long-table')) {
    const rows = [...part.querySelectorAll('tbody tr')];
    const bar = document.createElement('div');
    bar.className = 'filter';
    const input = Object.assign(document.createElement('input'), { type: 'search', placeholder: 'Filter the list' });
    input.setAttribute('aria-label', 'Filter the list');
    const count = document.createElement('output');
    count.textContent = `${rows.length} rows`;
    input.addEventListener('input', () => {
      const words = input.value.toLowerCase().split(/\s+/);
      let shown = 0;
      for (const row of rows) {
        const text = Array.from(row.cells, (cell) => cell.textContent)
          .join(' ')
          .toLowerCase();
        row.hidden = !words.every((word) => text.includes(word));
        if (!row.hidden) shown += 1;
      }
      count.textContent = shown === rows.length ? `${rows.length} rows` : `${shown} of ${rows.length} rows`;
    });
    bar.append(input, count);
    part.prepend(bar);
  }

  const links = new Map([...document.querySelectorAll('.contents a')].map((link) => [link.hash.slice(1), link]));
  if (links.size > 0) {
    const headings = [...links.keys()].map((id) => document.getElementById(id));
    const showPlace = () => {
      const passed = headings.filter((heading) => heading.getBoundingClientRect().top < 120);
      const isAtEnd = innerHeight + scrollY >= document.body.scrollHeight - 4;
      const here = (isAtEnd ? headings : passed).at(-1) ?? headings[0];
      for (const [id, link] of links) link.classList.toggle('here', id === here.id);
    };
    addEventListener('scroll', showPlace, { passive: true });
    showPlace();
  }
})();
