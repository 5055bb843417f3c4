import type { JSX } from 'preact';
import { useLayoutEffect, useState } from 'preact/hooks';
import { Button } from '../parts/button.tsx';

const THEMES = ['system', 'light', 'dark'] as const;
type Theme = (typeof THEMES)[number];

const STORED_AS = 'tiltyard-theme';
const ICONS = { system: 'system', light: 'sun', dark: 'moon' } as const;
const CHANGED = 'tiltyard-theme-changed';

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

/** Whether the page is currently dark, by the choice of the user or the system. */
export function isDark(): boolean {
  const theme = storedTheme();
  return theme === 'dark' || (theme === 'system' && matchMedia('(prefers-color-scheme: dark)').matches);
}

/** Switches to the next of system, light and dark. */
export function switchTheme(): void {
  const next = themeAfter(storedTheme());
  applyTheme(next);
  localStorage.setItem(STORED_AS, next);
  dispatchEvent(new Event(CHANGED));
}

function themeAfter(theme: Theme): Theme {
  return THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? 'system';
}

export function ThemeSwitch(): JSX.Element {
  const [theme, setTheme] = useState(storedTheme);
  useLayoutEffect(() => {
    const onChange = (): void => setTheme(storedTheme());
    addEventListener(CHANGED, onChange);
    return () => removeEventListener(CHANGED, onChange);
  }, []);
  const label = `Theme: ${theme}. Change to ${themeAfter(theme)}`;
  return <Button kind="quiet" icon={ICONS[theme]} label={label} onClick={switchTheme} />;
}
