import type { JSX, ComponentChildren } from 'preact';
import { Button } from '../button.tsx';
import { formatCount } from '../format.ts';

interface PagerProps {
  readonly label: string;
  readonly offset: number;
  readonly pageSize: number;
  /** Absent if unknown. */
  readonly total: number | undefined;
  readonly count: number;
  readonly onOffset: (offset: number) => void;
}

export function Pager({ label, offset, pageSize, total, count, onOffset }: PagerProps): JSX.Element {
  const hasNext = total === undefined ? count === pageSize : offset + count < total;
  const range = count === 0 ? 'none' : `${formatCount(offset + 1)}–${formatCount(offset + count)}`;
  return (
    <div class="pager" role="group" aria-label={label}>
      <span class="muted" role="status">
        {range}
        {total === undefined ? '' : ` of ${formatCount(total)}`}
      </span>
      <Button
        icon="left"
        label="Previous page"
        isDisabled={offset === 0}
        onClick={() => onOffset(Math.max(0, offset - pageSize))}
      />
      <Button icon="right" label="Next page" isDisabled={!hasNext} onClick={() => onOffset(offset + pageSize)} />
    </div>
  );
}

interface Head {
  readonly label: ComponentChildren;
  readonly isRight?: boolean;
  /** For screen readers only. */
  readonly isHidden?: boolean;
}

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
