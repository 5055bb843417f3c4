import type { JSX } from 'preact';
import { cellOf } from '../../../src/client/rows.ts';
import type { JsonRow } from '../../../src/client/rows.ts';
import { Cell } from '../parts/grid/cell.tsx';
import { DataGrid } from '../parts/grid/data-grid.tsx';
import type { GridColumn } from '../parts/grid/data-grid.tsx';
import { ErrorBox } from '../parts/error-box.tsx';
import { Skeleton } from '../parts/states.tsx';
import { useLoad } from '../parts/use-load.ts';
import { previewFile } from './opened-file.ts';
import type { OpenedFile, Preview } from './opened-file.ts';

export function PreviewGrid({ opened }: { readonly opened: OpenedFile }): JSX.Element {
  const { value, error, isLoading } = useLoad(async () => previewFile(opened), [opened]);
  return (
    <section aria-label="Preview">
      <h2>Preview</h2>
      <ErrorBox error={error} />
      {value === undefined && isLoading ? <Skeleton lines={5} /> : null}
      {value === undefined ? null : (
        <div class="preview">
          <DataGrid
            label="First rows"
            columns={columnsOf(value)}
            rows={value.rows}
            keyOf={(_row, index) => String(index)}
            isDim={isLoading}
          />
        </div>
      )}
    </section>
  );
}

const NUMBER = /^(?:u?int|float|decimal)\d+(?:\(.*\))?$/;

function columnsOf({ columns }: Preview): readonly GridColumn<JsonRow>[] {
  return columns.map(({ name, type }) => ({
    id: name,
    label: name,
    note: type,
    width: Math.min(260, Math.max(type.startsWith('timestamp') ? 245 : 120, (name.length + type.length) * 7.5 + 36)),
    align: NUMBER.test(type) ? 'right' : 'left',
    render: (row) => <Cell value={cellOf(row, name)} />,
  }));
}
