import type { ComponentChildren, JSX } from 'preact';
import { Icon } from './icon.tsx';
import type { IconName } from './icon.tsx';
import { toast } from './toast-store.ts';

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
  /** Why the caller may not do it (`usePermissions`): the button turns gray and shows the reason. */
  readonly refusal?: string | undefined;
  readonly class?: string;
  readonly onClick?: (event: MouseEvent) => void;
}

export function Button(props: ButtonProps): JSX.Element {
  const { children, kind = 'plain', icon, label, isBusy = false, isDisabled = false, submits = false, refusal } = props;
  const isRefused = refusal !== undefined;
  return (
    <button
      type={submits && !isRefused ? 'submit' : 'button'}
      class={`button ${kind}${children === undefined ? ' bare' : ''} ${props.class ?? ''}`}
      aria-label={label}
      title={refusal ?? label}
      aria-busy={isBusy}
      aria-pressed={props.isPressed}
      aria-expanded={props.isExpanded}
      // Unlike a disabled button it can be focused, so that the reason can be read.
      aria-disabled={isRefused ? true : undefined}
      disabled={isDisabled || isBusy}
      onClick={isRefused ? () => toast(refusal, 'bad') : props.onClick}
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
  /** As in `Button`. */
  readonly refusal?: string | undefined;
}

/** A link that looks like a button. */
export function LinkButton({ href, children, kind = 'plain', icon, refusal }: LinkButtonProps): JSX.Element {
  if (refusal !== undefined) {
    return (
      <Button kind={kind} {...(icon === undefined ? {} : { icon })} refusal={refusal}>
        {children}
      </Button>
    );
  }
  return (
    <a class={`button ${kind}`} href={href}>
      {icon === undefined ? null : <Icon name={icon} />}
      {children}
    </a>
  );
}
