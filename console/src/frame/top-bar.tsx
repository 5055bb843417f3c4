import type { JSX } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Button } from '../parts/button.tsx';
import { Icon } from '../parts/icon.tsx';
import { toHash } from '../router.ts';
import { VIEWS, isMainView } from '../views.ts';
import type { View } from '../views.ts';
import { meetsNeed, useWho } from '../who.tsx';
import { DatabaseSwitch } from './database-switch.tsx';
import { ThemeSwitch } from './theme.tsx';
import { WhoMenu } from './who-menu.tsx';

interface TopBarProps {
  readonly view: View | undefined;
  readonly database: string;
  readonly onDatabase: (database: string) => void;
  readonly onPalette: () => void;
  readonly onSignOut: () => void;
}

/** On narrow screens the navigation is a drawer behind the menu button. */
export function TopBar({ view, database, onDatabase, onPalette, onSignOut }: TopBarProps): JSX.Element {
  const [isOpen, setIsOpen] = useState(false);
  const header = useRef<HTMLElement>(null);
  useLayoutEffect(() => {
    if (isOpen) header.current?.querySelector<HTMLElement>('nav a')?.focus();
  }, [isOpen]);
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== 'Escape' || !isOpen) return;
    setIsOpen(false);
    header.current?.querySelector('button')?.focus();
  };
  return (
    <header class={isOpen ? 'top open' : 'top'} ref={header} onKeyDown={onKeyDown}>
      <Button
        class="menu-button"
        kind="quiet"
        icon={isOpen ? 'close' : 'menu'}
        label={isOpen ? 'Close the menu' : 'Open the menu'}
        isExpanded={isOpen}
        onClick={() => setIsOpen(!isOpen)}
      />
      <a class="brand" href={toHash('')}>
        <img src="./icon.svg" width="20" height="20" alt="" />
        Tiltyard
      </a>
      <div class="drawer">
        <Navigation view={view} database={database} onChoose={() => setIsOpen(false)} />
        <span class="spring" />
        <DatabaseSwitch database={database} onChange={onDatabase} />
        <ThemeSwitch />
      </div>
      <div class="shade" onClick={() => setIsOpen(false)} />
      <Button class="find" icon="search" label="Search tables and actions" onClick={onPalette}>
        <span class="words">Search</span>
        <kbd aria-hidden="true">{SHORTCUT}</kbd>
      </Button>
      <WhoMenu database={database} onSignOut={onSignOut} />
    </header>
  );
}

const SHORTCUT = navigator.userAgent.includes('Mac') ? '⌘K' : 'Ctrl K';

interface NavigationProps {
  readonly view: View | undefined;
  readonly database: string;
  readonly onChoose: () => void;
}

function Navigation({ view, database, onChoose }: NavigationProps): JSX.Element {
  const who = useWho();
  const shown = VIEWS.filter(isMainView).filter(({ need }) => meetsNeed(who, need, database));
  return (
    <nav aria-label="Main">
      {shown.map(({ id, label, icon, load }) => (
        <a
          key={id}
          href={toHash(id)}
          aria-current={id === (view?.under ?? view?.id) ? 'page' : undefined}
          // Loads its code before the click.
          onPointerEnter={() => void load()}
          onFocus={() => void load()}
          onClick={onChoose}
        >
          <Icon name={icon} />
          {label}
        </a>
      ))}
    </nav>
  );
}
