import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Button } from '../parts/button.tsx';
import { ErrorBox } from '../parts/error-box.tsx';
import { Cell } from '../parts/grid/cell.tsx';
import { Heads, Pager, hidden } from '../parts/grid/pager.tsx';
import { useLoad } from '../parts/use-load.ts';
import { cellOf } from '../../../src/client/rows.ts';
import type { ColumnFact } from '../../../src/plans/table-facts.ts';
import type { MapRows } from './map-rows.ts';

interface PointListProps {
  readonly rowIds: readonly string[];
  readonly rows: MapRows;
  readonly columns: readonly ColumnFact[];
  readonly selected: number | undefined;
  readonly onSelect: (index: number) => void;
}

const PAGE_ROWS = 10;

/** The points as a table: everything that the canvas offers, for the keyboard and screen readers. */
export function PointList({ rowIds, rows, columns, selected, onSelect }: PointListProps): JSX.Element {
  const [offset, setOffset] = useState(0);
  const page = rowIds.slice(offset, offset + PAGE_ROWS);
  const { error } = useLoad(async () => rows.read(page), [rows, offset]);
  return (
    <div class="point-list">
      <ErrorBox error={error} />
      <div class="grid-frame">
        <table class="entries" aria-label="Points of the map">
          <Heads heads={[hidden('Select'), ...columns.map(({ path }) => path)]} />
          <tbody>
            {page.map((rowId, index) => (
              <tr key={rowId} aria-selected={offset + index === selected}>
                <td>
                  <Button kind="quiet" isPressed={offset + index === selected} onClick={() => onSelect(offset + index)}>
                    Neighbours of row {rowId}
                  </Button>
                </td>
                {columns.map(({ path, type }) => (
                  <td key={path}>
                    <Cell value={cellOf(rows.find(rowId), path)} type={type} />
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <Pager
        label="Pages of points"
        offset={offset}
        pageSize={PAGE_ROWS}
        count={page.length}
        total={rowIds.length}
        onOffset={setOffset}
      />
    </div>
  );
}
