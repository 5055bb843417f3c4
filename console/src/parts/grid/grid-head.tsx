import type { JSX } from 'preact';
import { Icon } from '../icon.tsx';
import { formatFieldPath } from '../../../../src/model/field-path.ts';

export interface GridSort {
  readonly column: string;
  readonly isAscending: boolean;
}

interface HeadColumn {
  readonly id: string;
  readonly label: string;
  readonly note?: string;
  readonly align?: 'left' | 'right';
  readonly isSortable?: boolean;
}

interface GridHeadProps<Column extends HeadColumn> {
  readonly columns: readonly Column[];
  readonly sort: GridSort | undefined;
  readonly onSort: ((sort: GridSort | undefined) => void) | undefined;
  readonly widthOf: (column: Column) => number;
  readonly freeze: Freeze;
  readonly onResize: (id: string, width: number) => void;
}

/** Class and style of a cell in the column at a position. */
export type Freeze = (
  place: number,
  classes: string,
) => { readonly class?: string; readonly style?: { readonly left: string } };

const WIDE = 160;

/** The first columns stay visible, by width; wide ones only if there is space. */
export function frozenBy(widths: readonly number[]): Freeze {
  return (place, classes) => {
    const width = widths[place];
    if (width === undefined) return classes === '' ? {} : { class: classes };
    const left = widths.slice(0, place).reduce((sum, each) => sum + each, 0);
    const name = left + width > WIDE ? 'frozen wide' : 'frozen';
    return { class: `${classes} ${name}`.trim(), style: { left: `${left}px` } };
  };
}

const WIDTH_MIN = 56;
const WIDTH_MAX = 1200;

export function GridHead<Column extends HeadColumn>(props: GridHeadProps<Column>): JSX.Element {
  const { columns, sort, onSort, widthOf, freeze, onResize } = props;
  return (
    <thead>
      <tr aria-rowindex={1}>
        {columns.map((column, place) => (
          <th
            key={column.id}
            scope="col"
            {...freeze(place, column.align === 'right' ? 'right' : '')}
            aria-sort={sort?.column === column.id ? (sort.isAscending ? 'ascending' : 'descending') : undefined}
          >
            {column.isSortable === true && onSort !== undefined ? (
              <button type="button" class="sort" onClick={() => onSort(nextSort(sort, column.id))}>
                <Words column={column} />
                {sort?.column === column.id ? <Icon name={sort.isAscending ? 'up' : 'down'} /> : null}
              </button>
            ) : (
              <Words column={column} />
            )}
            <span
              class="edge"
              onPointerDown={(event) => drag(event, widthOf(column), (width) => onResize(column.id, width))}
            />
          </th>
        ))}
        <td class="filler" aria-hidden="true" />
      </tr>
    </thead>
  );
}

function Words({ column }: { readonly column: HeadColumn }): JSX.Element {
  return (
    <span class="words" title={column.label}>
      <span>{column.label}</span>
      {column.note === undefined ? null : <small>{column.note}</small>}
    </span>
  );
}

/** Ascending, descending, unsorted. */
function nextSort(sort: GridSort | undefined, column: string): GridSort | undefined {
  if (sort?.column !== column) return { column, isAscending: true };
  return sort.isAscending ? { column, isAscending: false } : undefined;
}

function drag(event: PointerEvent, width: number, onWidth: (width: number) => void): void {
  event.preventDefault();
  const from = event.clientX;
  const move = (each: PointerEvent): void =>
    onWidth(Math.max(WIDTH_MIN, Math.min(width + each.clientX - from, WIDTH_MAX)));
  const stop = (): void => {
    removeEventListener('pointermove', move);
    removeEventListener('pointerup', stop);
  };
  addEventListener('pointermove', move);
  addEventListener('pointerup', stop);
}

export function toOrder({ column, isAscending }: GridSort): { column_name: string; ascending: boolean } {
  return { column_name: formatFieldPath([column]), ascending: isAscending };
}
