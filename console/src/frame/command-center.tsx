import type { ComponentType, JSX } from 'preact';
import { useEffect, useLayoutEffect, useState } from 'preact/hooks';
import { toastError } from '../parts/toasts.tsx';
import type { PaletteProps } from './palette.tsx';

export type Command = 'palette' | 'shortcuts' | undefined;

interface CommandCenterProps {
  readonly command: Command;
  readonly database: string;
  readonly onCommand: (command: Command) => void;
  readonly onSignOut: () => void;
}

/** Listens for the shortcuts of the whole page, and loads what they open on first use. */
export function CommandCenter({ command, database, onCommand, onSignOut }: CommandCenterProps): JSX.Element | null {
  useLayoutEffect(() => {
    const onKeyDown = (event: KeyboardEvent): void => {
      const asked = commandOf(event);
      if (asked === undefined) return;
      event.preventDefault();
      onCommand(asked);
    };
    addEventListener('keydown', onKeyDown);
    return () => removeEventListener('keydown', onKeyDown);
  }, []);
  const close = (): void => onCommand(undefined);
  if (command === 'shortcuts') return <Lazy load={loadShortcuts} props={{ onClose: close }} />;
  if (command !== 'palette') return null;
  const props = { database, onSignOut, onShortcuts: () => onCommand('shortcuts'), onClose: close };
  return <Lazy load={loadPalette} props={props} />;
}

const loadPalette = async (): Promise<ComponentType<PaletteProps>> => (await import('./palette.tsx')).Palette;
const loadShortcuts = async () => (await import('./shortcuts-dialog.tsx')).ShortcutsDialog;

function commandOf(event: KeyboardEvent): Command {
  const isOpen = document.querySelector('dialog[open]') !== null;
  if (isOpen) return undefined;
  const { key, ctrlKey, metaKey, altKey } = event;
  if ((ctrlKey || metaKey) && !altKey && key.toLowerCase() === 'k') return 'palette';
  if (ctrlKey || metaKey || altKey || isTyping(event.target)) return undefined;
  if (key === '/') return 'palette';
  return key === '?' ? 'shortcuts' : undefined;
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.closest('input, textarea, select, [contenteditable]') !== null;
}

interface LazyProps<Props> {
  readonly load: () => Promise<ComponentType<Props>>;
  readonly props: Props;
}

function Lazy<Props extends { readonly onClose: () => void }>({ load, props }: LazyProps<Props>): JSX.Element | null {
  const [loaded, setLoaded] = useState<{ readonly Shown: ComponentType<Props> }>();
  useEffect(() => {
    let isGone = false;
    load().then(
      (Shown) => isGone || setLoaded({ Shown }),
      (error: unknown) => {
        toastError(error);
        props.onClose();
      },
    );
    return () => {
      isGone = true;
    };
  }, [load]);
  return loaded === undefined ? null : <loaded.Shown {...props} />;
}
