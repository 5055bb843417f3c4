import type { ComponentChildren, JSX } from 'preact';
import { Icon } from './icon.tsx';
import type { IconName } from './icon.tsx';

interface ButtonProps {
  readonly children?: ComponentChildren;
  readonly kind?: 'plain' | 'primary' | 'danger' | 'quiet';
  readonly icon?: IconName;
  /** For icon-only buttons. */
  readonly label?: string;
  readonly isBusy?: boolean;
  readonly isDisabled?: boolean;
  readonly isPressed?: boolean;
  readonly isExpanded?: boolean;
  readonly submits?: boolean;
  readonly onClick?: (event: MouseEvent) => void;
}

export function Button(props: ButtonProps): JSX.Element {
  const { children, kind = 'plain', icon, label, isBusy = false, isDisabled = false, submits = false } = props;
  return (
    <button
      type={submits ? 'submit' : 'button'}
      class={`button ${kind}${children === undefined ? ' bare' : ''}`}
      aria-label={label}
      title={label}
      aria-busy={isBusy}
      aria-pressed={props.isPressed}
      aria-expanded={props.isExpanded}
      disabled={isDisabled || isBusy}
      onClick={props.onClick}
    >
      {isBusy ? <span class="spinner" /> : icon === undefined ? null : <Icon name={icon} />}
      {children}
    </button>
  );
}

interface LinkButtonProps {
  readonly href: string;
  readonly children: ComponentChildren;
  readonly kind?: 'plain' | 'primary' | 'quiet';
  readonly icon?: IconName;
}

/** A link that looks like a button. */
export function LinkButton({ href, children, kind = 'plain', icon }: LinkButtonProps): JSX.Element {
  return (
    <a class={`button ${kind}`} href={href}>
      {icon === undefined ? null : <Icon name={icon} />}
      {children}
    </a>
  );
}
