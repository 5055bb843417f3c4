import type { ComponentChildren, JSX } from 'preact';
import type { TablePath } from '../../../../src/model/identifier.ts';
import { tableHash } from '../../links.ts';
import { toHash } from '../../router.ts';
import { LinkButton } from '../button.tsx';

interface TableFormProps {
  readonly label: string;
  readonly table: TablePath;
  /** The view in which another table can be chosen. */
  readonly view: string;
  readonly onSubmit: () => void;
  readonly children: ComponentChildren;
}

export function TableForm({ label, table, view, onSubmit, children }: TableFormProps): JSX.Element {
  const submit = (event: Event): void => {
    event.preventDefault();
    onSubmit();
  };
  return (
    <form class="lab-form" aria-label={label} onSubmit={submit}>
      <header>
        <h1>
          <a href={tableHash(table)}>{table.join(' / ')}</a>
        </h1>
        <LinkButton kind="quiet" href={toHash(view)} icon="table">
          Other table
        </LinkButton>
      </header>
      {children}
    </form>
  );
}
