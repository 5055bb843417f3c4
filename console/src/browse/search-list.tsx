import type { JSX, RefObject } from 'preact';
import { useMemo, useRef, useLayoutEffect, useState } from 'preact/hooks';
import { useClient } from '../api.ts';
import { tableHash } from '../links.ts';
import { ErrorBox } from '../parts/error-box.tsx';
import { formatCount } from '../parts/format.ts';
import { Icon } from '../parts/icon.tsx';
import { Skeleton } from '../parts/states.tsx';
import { useLoad } from '../parts/use-load.ts';
import type { ApiClient } from '../../../src/client/api-client.ts';
import { listTables } from '../../../src/client/tables.ts';
import type { TablePath } from '../../../src/model/identifier.ts';

const ROW_HEIGHT = 28;

/** Replaces the tree during a search. */
export function SearchList({ text }: { readonly text: string }): JSX.Element {
  const client = useClient();
  const box = useRef<HTMLDivElement>(null);
  const { value, error } = useLoad(async () => readAllNames(client), [client]);
  const found = useMemo(() => (value === undefined ? [] : findNames(value.tables, text)), [value, text]);
  const { first, end } = useWindow(box, found.length, ROW_HEIGHT);
  return (
    <div class="tree" ref={box}>
      <p class="count" role="status">
        {value === undefined ? 'Looking …' : `${formatCount(found.length)} found`}
        {value?.isCut === true ? ` among the first ${formatCount(NAMES_MAX)}` : ''}
      </p>
      <ErrorBox error={error} />
      {value === undefined && error === undefined ? <Skeleton /> : null}
      <div class="all" style={{ height: `${found.length * ROW_HEIGHT}px` }}>
        {found.slice(first, end).map((table, index) => (
          <a
            key={table.join('/')}
            class="row found"
            href={tableHash(table)}
            style={{ top: `${(first + index) * ROW_HEIGHT}px` }}
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

/** The search reads no more tables than this, and says so. */
const NAMES_MAX = 50_000;

interface AllNames {
  readonly tables: readonly TablePath[];
  readonly isCut: boolean;
}

/** All visible tables of the database. */
async function readAllNames(client: ApiClient): Promise<AllNames> {
  const tables: TablePath[] = [];
  for await (const table of listTables(client)) {
    if (tables.length >= NAMES_MAX) return { tables, isCut: true };
    tables.push(table);
  }
  return { tables, isCut: false };
}

/** Tables whose path contains every word; those whose name starts with the text come first. */
function findNames(tables: readonly TablePath[], text: string): readonly TablePath[] {
  const words = text
    .toLowerCase()
    .split(/[\s/$]+/)
    .filter((word) => word !== '');
  const found = tables.filter((table) => {
    const path = table.join('/').toLowerCase();
    return words.every((word) => path.includes(word));
  });
  const first = words.at(-1) ?? '';
  const isBegin = (table: TablePath): boolean => (table.at(-1) ?? '').toLowerCase().startsWith(first);
  return [...found.filter(isBegin), ...found.filter((table) => !isBegin(table))];
}

export interface Window {
  readonly first: number;
  /** Exclusive. */
  readonly end: number;
}

const MARGIN_ROWS = 8;

/** Virtual scrolling: the visible range of rows of equal height. */
export function useWindow(box: RefObject<HTMLElement | null>, count: number, rowHeight: number): Window {
  const [scroll, setScroll] = useState({ top: 0, height: 800 });
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return;
    const measure = (): void => setScroll({ top: element.scrollTop, height: element.clientHeight });
    const sizes = new ResizeObserver(measure);
    sizes.observe(element);
    element.addEventListener('scroll', measure, { passive: true });
    return () => {
      sizes.disconnect();
      element.removeEventListener('scroll', measure);
    };
  }, [box]);
  const first = Math.max(0, Math.floor(scroll.top / rowHeight) - MARGIN_ROWS);
  const end = Math.min(count, Math.ceil((scroll.top + scroll.height) / rowHeight) + MARGIN_ROWS);
  return { first: Math.min(first, end), end };
}
