import type { JSX } from 'preact';
import { useMemo, useRef } from 'preact/hooks';
import { useClient } from '../api.ts';
import { tableHash } from '../links.ts';
import { ErrorBox } from '../parts/error-box.tsx';
import { formatCount } from '../parts/format.ts';
import { Icon } from '../parts/icon.tsx';
import { Skeleton } from '../parts/states.tsx';
import { useLoad } from '../parts/use-load.ts';
import { useRowHeight, useWindow } from './use-window.ts';
import { NAMES_MAX, findNames, readAllNames } from './table-names.ts';

/** Replaces the tree during a search. */
export function SearchList({ text }: { readonly text: string }): JSX.Element {
  const client = useClient();
  const box = useRef<HTMLDivElement>(null);
  const { value, error } = useLoad(async () => readAllNames(client), [client]);
  const found = useMemo(() => (value === undefined ? [] : findNames(value.tables, text)), [value, text]);
  const rowHeight = useRowHeight();
  const { first, end } = useWindow(box, found.length, rowHeight);
  return (
    <div class="tree" ref={box}>
      <p class="count" role="status">
        {value === undefined ? 'Searching …' : `${formatCount(found.length)} found`}
        {value?.isCut === true ? ` among the first ${formatCount(NAMES_MAX)}` : ''}
      </p>
      <ErrorBox error={error} />
      {value === undefined && error === undefined ? <Skeleton /> : null}
      <div class="all" style={{ height: `${found.length * rowHeight}px` }}>
        {found.slice(first, end).map((table, index) => (
          <a
            key={table.join('/')}
            class="row found"
            href={tableHash(table)}
            style={{ top: `${(first + index) * rowHeight}px` }}
          >
            <Icon name="table" />
            <span class="name" title={table.join(' / ')}>
              {table.at(-1)}
            </span>
            <span class="muted">{table.slice(0, -1).join(' / ')}</span>
          </a>
        ))}
      </div>
    </div>
  );
}
