import type { ComponentChildren, JSX } from 'preact';
import { Icon } from './icon.tsx';
import type { IconName } from './icon.tsx';
import type { NamespacePath } from '../../../src/model/identifier.ts';
import { namespaceHash } from '../links.ts';

interface EmptyProps {
  readonly icon: IconName;
  readonly title: string;
  readonly children?: ComponentChildren;
}

export function Empty({ icon, title, children }: EmptyProps): JSX.Element {
  return (
    <div class="empty">
      <Icon name={icon} />
      <h2>{title}</h2>
      {children}
    </div>
  );
}

/** Appears after a delay, to avoid flicker. */
export function Skeleton({ lines = 4 }: { readonly lines?: number }): JSX.Element {
  return (
    <div class="skeleton" role="status" aria-label="Loading">
      {Array.from({ length: lines }, (_unused, index) => (
        <span key={index} />
      ))}
    </div>
  );
}

interface BadgeProps {
  readonly kind?: 'plain' | 'good' | 'warn' | 'bad' | 'accent';
  readonly icon?: IconName;
  readonly title?: string;
  readonly children: ComponentChildren;
}

export function Badge({ kind = 'plain', icon, title, children }: BadgeProps): JSX.Element {
  return (
    <span class={`badge ${kind}`} title={title}>
      {icon === undefined ? null : <Icon name={icon} />}
      {children}
    </span>
  );
}

interface MeterProps {
  readonly label: string;
  /** From 0 to 1; absent when unknown. */
  readonly share?: number | undefined;
  readonly kind?: 'accent' | 'good' | 'warn';
}

export function Meter({ label, share, kind = 'accent' }: MeterProps): JSX.Element {
  const percent = share === undefined ? undefined : Math.round(Math.min(Math.max(share, 0), 1) * 100);
  return (
    <div
      class={`meter ${kind}${percent === undefined ? ' unknown' : ''}`}
      role="progressbar"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={percent}
    >
      <span style={{ width: `${percent ?? 30}%` }} />
    </div>
  );
}

interface BreadcrumbsProps {
  readonly database: string;
  readonly namespace: NamespacePath;
}

export function Breadcrumbs({ database, namespace }: BreadcrumbsProps): JSX.Element {
  return (
    <nav class="breadcrumbs" aria-label="Place">
      <a href={namespaceHash([])}>{database}</a>
      {namespace.map((name, index) => (
        <a key={name} href={namespaceHash(namespace.slice(0, index + 1))}>
          {name}
        </a>
      ))}
    </nav>
  );
}
