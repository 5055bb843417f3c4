import type { JSX } from 'preact';
import type { NamespacePath } from '../../../src/model/identifier.ts';
import { namespaceHash } from '../links.ts';

interface BreadcrumbsProps {
  readonly database: string;
  readonly namespace: NamespacePath;
}

/** The way down to what is shown. */
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
