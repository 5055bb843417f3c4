import type { ComponentChildren, JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { GridHead } from './grid-head.tsx';
import type { GridSort } from './grid-head.tsx';
import { moveInGrid } from './grid-keys.ts';
import type { GridPlace } from './grid-keys.ts';

export interface GridColumn<Row> {
  readonly id: string;
  readonly label: string;
  /** A second line of the head, such as a type. */
  readonly note?: string;
  readonly width: number;
  readonly align?: 'left' | 'right';
  readonly isSortable?: boolean;
  readonly render: (row: Row) => ComponentChildren;
}

interface DataGridProps<Row> {
  readonly label: string;
  readonly columns: readonly GridColumn<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row, index: number) => string;
  readonly sort?: GridSort | undefined;
  readonly onSort?: (sort: GridSort | undefined) => void;
  /** On Enter or double click. */
  readonly onOpen?: (row: Row, column: GridColumn<Row>) => void;
  /** The index of the first row, for screen readers. */
  readonly firstRow?: number;
  readonly rowCount?: number | undefined;
  readonly isDim?: boolean;
}

/** Arrow keys move between cells, Enter opens one, dragging the edge of a head resizes its column. */
export function DataGrid<Row>(props: DataGridProps<Row>): JSX.Element {
  const { label, columns, rows, keyOf, firstRow = 0, rowCount, isDim = false } = props;
  const [widths, setWidths] = useState<Readonly<Record<string, number>>>({});
  const [active, setActive] = useState<GridPlace>({ row: 0, column: 0 });
  const body = useRef<HTMLTableSectionElement>(null);
  const widthOf = (column: GridColumn<Row>): number => widths[column.id] ?? column.width;
  const focus = (place: GridPlace): void => {
    setActive(place);
    body.current?.querySelector<HTMLElement>(`[data-cell="${place.row}:${place.column}"]`)?.focus();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.target instanceof HTMLElement && event.target.dataset['cell'] === undefined) return;
    const [row, column] = [rows[active.row], columns[active.column]];
    if (event.key === 'Enter' && row !== undefined && column !== undefined) props.onOpen?.(row, column);
    const next = moveInGrid(event, active, { rows: rows.length, columns: columns.length });
    if (next === undefined) return;
    event.preventDefault();
    focus(next);
  };
  const total = columns.reduce((sum, column) => sum + widthOf(column), 0);
  return (
    <div class={isDim ? 'grid-frame dim' : 'grid-frame'}>
      <table
        class="grid"
        role="grid"
        aria-label={label}
        aria-rowcount={rowCount ?? rows.length}
        style={{ width: `${total}px` }}
      >
        <colgroup>
          {columns.map((column) => (
            <col key={column.id} style={{ width: `${widthOf(column)}px` }} />
          ))}
          <col />
        </colgroup>
        <GridHead
          columns={columns}
          sort={props.sort}
          onSort={props.onSort}
          widthOf={widthOf}
          onResize={(id, width) => setWidths((before) => ({ ...before, [id]: width }))}
        />
        <tbody ref={body} onKeyDown={onKeyDown}>
          {rows.map((row, index) => (
            <tr key={keyOf(row, index)} aria-rowindex={firstRow + index + 2}>
              {columns.map((column, position) => (
                <td
                  key={column.id}
                  class={column.align === 'right' ? 'right' : undefined}
                  role="gridcell"
                  data-cell={`${index}:${position}`}
                  tabIndex={active.row === index && active.column === position ? 0 : -1}
                  onFocus={() => setActive({ row: index, column: position })}
                  onDblClick={() => props.onOpen?.(row, column)}
                >
                  {column.render(row)}
                </td>
              ))}
              <td class="filler" aria-hidden="true" />
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
