import type { ComponentChildren, JSX } from 'preact';

export interface Head {
  readonly label: ComponentChildren;
  readonly isRight?: boolean;
  /** For columns whose contents speak for themselves; those who hear the table are told it. */
  readonly isHidden?: boolean;
}

/** The first row of a table. */
export function Heads({ heads }: { readonly heads: readonly (Head | string)[] }): JSX.Element {
  return (
    <thead>
      <tr>
        {heads.map((each, index) => {
          const { label, isRight = false, isHidden = false } = typeof each === 'string' ? { label: each } : each;
          return (
            <th key={index} scope="col" class={isRight ? 'right' : undefined}>
              {isHidden ? <span class="hidden">{label}</span> : label}
            </th>
          );
        })}
      </tr>
    </thead>
  );
}

export function right(label: string): Head {
  return { label, isRight: true };
}

export function hidden(label: string): Head {
  return { label, isHidden: true };
}
