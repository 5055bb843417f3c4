import type { JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { namespaceHash, tableHash } from '../links.ts';
import { Icon } from '../parts/icon.tsx';
import { useRowHeight, useWindow } from './use-window.ts';
import { go } from '../router.ts';
import { useTree, keyOf } from './tree-store.ts';
import { listRows } from './tree-rows.ts';
import type { TreeRow } from './tree-rows.ts';
import type { TreeStore } from './tree-store.ts';

interface TreeProps {
  /** The key of the open namespace or table. */
  readonly chosen: string;
}

/** The tree keeps the focus and arrow keys move an active row, because virtual rows come and go. */
export function Tree({ chosen }: TreeProps): JSX.Element {
  const store = useTree();
  const box = useRef<HTMLDivElement>(null);
  const rows = listRows(store);
  const [mark, setMark] = useState<string | undefined>();
  const chosenAt = rows.findIndex(({ key }) => key === chosen);
  const at = Math.max(0, mark === undefined ? chosenAt : rows.findIndex(({ key }) => key === mark));
  const rowHeight = useRowHeight();
  const { first, end } = useWindow(box, rows.length, rowHeight);
  const shown = useMemo(() => rows.slice(first, end), [rows, first, end]);
  useEffect(() => {
    for (const row of shown) if (row.kind === 'more') store.loadMore(row.path);
  }, [shown]);
  useEffect(() => {
    // Rows that load above the active one would push it out of view.
    if (document.activeElement === box.current) scrollTo(box.current, at, rowHeight);
  }, [rows.length]);
  const moveTo = (index: number): void => {
    const row = rows[index];
    if (row === undefined) return;
    setMark(row.key);
    scrollTo(box.current, index, rowHeight);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const next = onTreeKey(event.key, { rows, at, store });
    if (next === undefined) return;
    event.preventDefault();
    moveTo(next);
  };
  return (
    <div
      class="tree"
      ref={box}
      role="tree"
      aria-label="Namespaces and tables"
      tabIndex={0}
      aria-activedescendant={rows[at] === undefined ? undefined : `row-${at}`}
      onKeyDown={onKeyDown}
    >
      <div class="all" style={{ height: `${rows.length * rowHeight}px` }}>
        {shown.map((row, index) => (
          <Row
            key={row.key}
            row={row}
            index={first + index}
            top={(first + index) * rowHeight}
            isMarked={first + index === at}
            isChosen={row.key === chosen}
            onMark={() => setMark(row.key)}
          />
        ))}
      </div>
    </div>
  );
}

interface RowProps {
  readonly row: TreeRow;
  readonly index: number;
  readonly top: number;
  readonly isMarked: boolean;
  readonly isChosen: boolean;
  readonly onMark: () => void;
}

function Row({ row, index, top, isMarked, isChosen: isSelected, onMark }: RowProps): JSX.Element {
  const store = useTree();
  const isNamespace = row.kind === 'namespace';
  const onClick = (event: MouseEvent): void => {
    onMark();
    const isArrow = event.target instanceof Element && event.target.closest('.arrow') !== null;
    if (isNamespace) store.setOpen(row.path, isArrow || isSelected ? !row.isOpen : true);
    if (!isArrow) openRow(row);
  };
  return (
    <div
      id={`row-${index}`}
      class={`row ${row.kind}${isMarked ? ' marked' : ''}`}
      role="treeitem"
      aria-level={row.level}
      aria-selected={isSelected}
      aria-expanded={isNamespace ? row.isOpen : undefined}
      style={{ top: `${top}px`, paddingLeft: `${row.level * 16 - 6}px` }}
      onClick={onClick}
    >
      <span class="arrow">{isNamespace ? <Icon name={row.isOpen ? 'down' : 'right'} /> : null}</span>
      {row.kind === 'table' ? <Icon name="table" /> : isNamespace ? <Icon name="folder" /> : null}
      <span class="name" title={row.label}>
        {row.label}
      </span>
    </div>
  );
}

interface KeyPlace {
  readonly rows: readonly TreeRow[];
  readonly at: number;
  readonly store: TreeStore;
}

/** The new active row; `undefined` for other keys. */
function onTreeKey(key: string, { rows, at, store }: KeyPlace): number | undefined {
  const row = rows[at];
  if (row === undefined) return undefined;
  switch (key) {
    case 'ArrowDown':
      return Math.min(at + 1, rows.length - 1);
    case 'ArrowUp':
      return Math.max(at - 1, 0);
    case 'Home':
      return 0;
    case 'End':
      return rows.length - 1;
    case 'ArrowRight':
      if (row.kind !== 'namespace') return at;
      if (row.isOpen) return Math.min(at + 1, rows.length - 1);
      store.setOpen(row.path, true);
      return at;
    case 'ArrowLeft':
      if (row.kind === 'namespace' && row.isOpen) store.setOpen(row.path, false);
      else return parentOf(rows, row) ?? at;
      return at;
    case 'Enter':
    case ' ':
      if (row.kind === 'namespace') store.setOpen(row.path, true);
      openRow(row);
      return at;
    default:
      return undefined;
  }
}

function parentOf(rows: readonly TreeRow[], row: TreeRow): number | undefined {
  const key = `namespace:${keyOf(row.path.slice(0, -1))}`;
  const found = rows.findIndex((each) => each.key === key);
  return found < 0 ? undefined : found;
}

function openRow({ kind, path }: TreeRow): void {
  const [name, ...rest] = path;
  if (kind === 'namespace') go(namespaceHash(path));
  if (kind === 'table' && name !== undefined) go(tableHash([name, ...rest]));
}

function scrollTo(box: HTMLElement | null, index: number, rowHeight: number): void {
  if (box === null) return;
  const [top, bottom] = [index * rowHeight, (index + 1) * rowHeight];
  if (top < box.scrollTop) box.scrollTop = top;
  else if (bottom > box.scrollTop + box.clientHeight) box.scrollTop = bottom - box.clientHeight;
}
