import type { ComponentChildren, JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import type { TablePath } from '../../../../src/model/identifier.ts';
import { tableHash } from '../../links.ts';
import { toHash } from '../../router.ts';
import { Button, LinkButton } from '../button.tsx';

/** The same as in `lab.css`. */
const NARROW = '(max-width: 800px)';

interface TableFormProps {
  readonly label: string;
  readonly table: TablePath;
  /** The view in which another table can be chosen. */
  readonly view: string;
  readonly onSubmit: () => void;
  /** Starts with a folded form, because its result is already shown. Only on narrow screens. */
  readonly isFolded?: boolean;
  readonly children: ComponentChildren;
}

/** On narrow screens the form is above its result, and folds when it is sent. */
export function TableForm(props: TableFormProps): JSX.Element {
  const { label, table, view, onSubmit, children } = props;
  const [isFolded, setIsFolded] = useState(props.isFolded ?? false);
  const form = useRef<HTMLFormElement>(null);
  const submit = (event: Event): void => {
    event.preventDefault();
    onSubmit();
    setIsFolded(true);
    const result = form.current?.nextElementSibling;
    if (matchMedia(NARROW).matches && result instanceof HTMLElement) {
      result.tabIndex = -1;
      result.focus();
    }
  };
  return (
    <form ref={form} class={isFolded ? 'lab-form folded' : 'lab-form'} aria-label={label} onSubmit={submit}>
      <header>
        <h1>
          <a href={tableHash(table)}>{table.join(' / ')}</a>
        </h1>
        <LinkButton kind="quiet" href={toHash(view)} icon="table">
          Other table
        </LinkButton>
        <Button class="unfold" icon="edit" isExpanded={!isFolded} onClick={() => setIsFolded(false)}>
          Edit
        </Button>
      </header>
      {children}
    </form>
  );
}
