import type { ComponentChildren, JSX } from 'preact';
import { useMemo, useRef, useState } from 'preact/hooks';
import { GridHead, frozenBy } from './grid-head.tsx';
import type { Freeze, GridSort } from './grid-head.tsx';
import { moveInGrid, placeOf } from './grid-keys.ts';
import type { GridPlace } from './grid-keys.ts';
import { useGrowingCount } from './use-growing-count.ts';

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
  /** On Enter, double click or tap. */
  readonly onOpen?: (row: Row, column: GridColumn<Row>) => void;
  /** The index of the first row, for screen readers. */
  readonly firstRow?: number;
  readonly rowCount?: number | undefined;
  readonly isDim?: boolean;
  /** Columns that stay visible while the others scroll. */
  readonly frozen?: number;
  readonly rowClass?: ((row: Row) => string | undefined) | undefined;
  readonly cellClass?: ((row: Row, column: GridColumn<Row>) => string | undefined) | undefined;
  /** Called for each key first; the grid ignores keys whose default it prevents. */
  readonly onKey?: ((event: KeyboardEvent, row: Row, column: GridColumn<Row>) => void) | undefined;
}

/** Arrow keys move between cells, Enter opens one, dragging the edge of a head resizes its column. */
export function DataGrid<Row>(props: DataGridProps<Row>): JSX.Element {
  const { label, columns, rows, keyOf, firstRow = 0, rowCount, isDim = false, frozen = 1 } = props;
  const [widths, setWidths] = useState<ReadonlyMap<string, number>>(new Map());
  const drawn = useGrowingCount(rows.length);
  const { active, body, listeners } = useCells(props, drawn);
  const widthOf = (column: GridColumn<Row>): number => widths.get(column.id) ?? column.width;
  const total = columns.reduce((sum, column) => sum + widthOf(column), 0);
  const freeze = useMemo(() => frozenBy(columns.slice(0, frozen).map(widthOf)), [columns, frozen, widths]);
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
          freeze={freeze}
          onResize={(id, width) => setWidths((before) => new Map(before).set(id, width))}
        />
        <tbody ref={body} {...listeners}>
          {rows.slice(0, drawn).map((row, index) => (
            <GridRow
              key={keyOf(row, index)}
              row={row}
              index={index}
              firstRow={firstRow}
              columns={columns}
              freeze={freeze}
              activeColumn={active.row === index ? active.column : undefined}
              rowClass={props.rowClass}
              cellClass={props.cellClass}
            />
          ))}
        </tbody>
      </table>
    </div>
  );
}

/**
 * The focused cell, and the handlers that move the focus or open a cell. One listener for all cells, because a grid has
 * a thousand.
 */
function useCells<Row>({ rows, columns, onOpen, onKey }: DataGridProps<Row>, drawn: number) {
  const [active, setActive] = useState<GridPlace>({ row: 0, column: 0 });
  const body = useRef<HTMLTableSectionElement>(null);
  const open = (place: GridPlace): void => {
    const [row, column] = [rows[place.row], columns[place.column]];
    if (row !== undefined && column !== undefined) onOpen?.(row, column);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.target instanceof HTMLElement && event.target.dataset['cell'] === undefined) return;
    const [row, column] = [rows[active.row], columns[active.column]];
    if (row === undefined || column === undefined) return;
    onKey?.(event, row, column);
    if (event.defaultPrevented) return;
    if (event.key === 'Enter') {
      // Otherwise the key would also press the button that gets the focus in the opened element.
      event.preventDefault();
      onOpen?.(row, column);
    }
    const next = moveInGrid(event, active, { rows: drawn, columns: columns.length });
    if (next === undefined) return;
    event.preventDefault();
    setActive(next);
    body.current?.querySelector<HTMLElement>(`[data-cell="${next.row}:${next.column}"]`)?.focus();
  };
  const listeners = {
    onKeyDown,
    onFocusIn: (event: FocusEvent) => atCell(event, setActive),
    onDblClick: (event: MouseEvent) => atCell(event, open),
    onClick: (event: MouseEvent) => (isTap(event) ? atCell(event, open) : undefined),
  };
  return { active, body, listeners };
}

function atCell({ target }: Event, act: (place: GridPlace) => void): void {
  const place = placeOf(target);
  if (place !== undefined) act(place);
}

interface GridRowProps<Row> extends Pick<DataGridProps<Row>, 'columns' | 'rowClass' | 'cellClass'> {
  readonly row: Row;
  readonly index: number;
  readonly firstRow: number;
  readonly freeze: Freeze;
  readonly activeColumn: number | undefined;
}

/** Cells are re-rendered only if the row or the columns changed. */
function GridRow<Row>(props: GridRowProps<Row>): JSX.Element {
  const { row, index, columns, freeze, activeColumn } = props;
  const contents = useMemo(() => columns.map((column) => column.render(row)), [row, columns]);
  return (
    <tr class={props.rowClass?.(row)} aria-rowindex={props.firstRow + index + 2}>
      {columns.map((column, position) => (
        <td
          key={column.id}
          {...freeze(position, classesOf(column.align === 'right' && 'right', props.cellClass?.(row, column)))}
          role="gridcell"
          data-cell={`${index}:${position}`}
          tabIndex={activeColumn === position ? 0 : -1}
        >
          {contents[position]}
        </td>
      ))}
      <td class="filler" aria-hidden="true" />
    </tr>
  );
}

/** A touch that is not on a control in the cell. */
function isTap({ pointerType, target }: MouseEvent & { readonly pointerType?: string }): boolean {
  return pointerType === 'touch' && target instanceof Element && target.closest('input, select, button') === null;
}

function classesOf(...names: readonly (string | false | undefined)[]): string {
  return names.filter((name) => typeof name === 'string').join(' ');
}
