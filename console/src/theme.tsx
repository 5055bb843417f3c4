import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Button } from './parts/button.tsx';

const THEMES = ['system', 'light', 'dark'] as const;
type Theme = (typeof THEMES)[number];

const STORED_AS = 'tiltyard-theme';
const ICONS = { system: 'system', light: 'sun', dark: 'moon' } as const;

/** Runs before the first render, to avoid a white flash. */
export function applyStoredTheme(): void {
  applyTheme(storedTheme());
}

function storedTheme(): Theme {
  const stored = localStorage.getItem(STORED_AS);
  return THEMES.find((theme) => theme === stored) ?? 'system';
}

function applyTheme(theme: Theme): void {
  if (theme === 'system') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = theme;
}

/** Cycles through system, light and dark. */
export function ThemeSwitch(): JSX.Element {
  const [theme, setTheme] = useState(storedTheme);
  const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? 'system';
  const change = (): void => {
    applyTheme(next);
    localStorage.setItem(STORED_AS, next);
    setTheme(next);
  };
  return <Button kind="quiet" icon={ICONS[theme]} label={`Theme: ${theme}. Change to ${next}`} onClick={change} />;
}
