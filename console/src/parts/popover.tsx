import type { ComponentChildren, JSX } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Button } from './button.tsx';
import { Icon } from './icon.tsx';
import type { IconName } from './icon.tsx';
import { toast } from './toast-store.ts';

interface PopoverProps {
  readonly label: string;
  readonly icon?: IconName;
  /** The text of the button, if any. */
  readonly text?: ComponentChildren;
  readonly kind?: 'plain' | 'quiet';
  readonly side?: 'left' | 'right';
  readonly children: (close: () => void) => ComponentChildren;
}

/** Closes on Escape, on an outside click, or when it loses the focus. */
export function Popover({ label, icon, text, kind = 'plain', side = 'left', children }: PopoverProps): JSX.Element {
  const [isOpen, setIsOpen] = useState(false);
  const root = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (!isOpen) return;
    const closeOutside = (event: Event): void => {
      if (event.target instanceof Node && root.current?.contains(event.target) !== true) setIsOpen(false);
    };
    document.addEventListener('pointerdown', closeOutside);
    document.addEventListener('focusin', closeOutside);
    return () => {
      document.removeEventListener('pointerdown', closeOutside);
      document.removeEventListener('focusin', closeOutside);
    };
  }, [isOpen]);
  const close = (): void => {
    setIsOpen(false);
    root.current?.querySelector('button')?.focus();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== 'Escape' || !isOpen) return;
    event.stopPropagation();
    close();
  };
  return (
    <div class="popover" ref={root} onKeyDown={onKeyDown}>
      <Button
        kind={kind}
        {...(icon === undefined ? {} : { icon })}
        {...(text === undefined ? { label } : {})}
        isExpanded={isOpen}
        onClick={() => setIsOpen(!isOpen)}
      >
        {text}
      </Button>
      {isOpen ? (
        <div class={`panel ${side}`} role="group" aria-label={label}>
          {children(close)}
        </div>
      ) : null}
    </div>
  );
}

interface MenuItemProps {
  readonly icon: IconName;
  readonly isDangerous?: boolean;
  /** Why the caller may not do it: the item turns gray and shows the reason. */
  readonly refusal?: string | undefined;
  readonly onClick: () => void;
  readonly children: ComponentChildren;
}

/** A button in the menu of a popover. */
export function MenuItem({ icon, isDangerous = false, refusal, onClick, children }: MenuItemProps): JSX.Element {
  const isRefused = refusal !== undefined;
  return (
    <button
      type="button"
      class={isDangerous ? 'item bad' : 'item'}
      title={refusal}
      aria-disabled={isRefused ? true : undefined}
      onClick={isRefused ? () => toast(refusal, 'bad') : onClick}
    >
      <Icon name={icon} /> {children}
    </button>
  );
}
