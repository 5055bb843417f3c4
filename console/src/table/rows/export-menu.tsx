import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { useClient } from '../../api.ts';
import { Button } from '../../parts/button.tsx';
import { formatBytes } from '../../parts/format.ts';
import type { GridSort } from '../../parts/grid/grid-head.tsx';
import { Popover } from '../../parts/popover.tsx';
import { toast, toastError } from '../../parts/toasts.tsx';
import type { DescribedTable } from '../described-table.ts';
import { EXPORTS, exportRows, saveFile } from './export-rows.ts';
import type { ExportFormat } from './export-rows.ts';
import { toOrder } from '../../parts/grid/grid-head.tsx';

interface ExportMenuProps {
  readonly table: DescribedTable;
  readonly filter: string;
  readonly sort: GridSort | undefined;
}

/** Exports all rows that match the filter, in the order of the grid. */
export function ExportMenu({ table, filter, sort }: ExportMenuProps): JSX.Element {
  const client = useClient();
  const [bytes, setBytes] = useState<number>();
  const stop = useRef<AbortController | undefined>(undefined);
  const save = async (format: ExportFormat, extension: string): Promise<void> => {
    stop.current = new AbortController();
    setBytes(0);
    const query = {
      ...table.at,
      ...(filter === '' ? {} : { filter }),
      ...(sort === undefined ? {} : { order_by: [toOrder(sort)] }),
    };
    const file = await exportRows(client, table.path, query, {
      format,
      signal: stop.current.signal,
      onBytes: setBytes,
    });
    const name = `${table.path.at(-1) ?? 'rows'}.${extension}`;
    saveFile(file, name);
    toast(`${name} has ${formatBytes(file.size)}.`);
  };
  const start = (format: ExportFormat, extension: string): void => {
    save(format, extension)
      .catch((error: unknown) => (stop.current?.signal.aborted === true ? undefined : toastError(error)))
      .finally(() => setBytes(undefined));
  };
  if (bytes !== undefined) {
    return (
      <Button isBusy={false} icon="close" onClick={() => stop.current?.abort()}>
        {bytes === 0 ? 'Exporting' : formatBytes(bytes)}
      </Button>
    );
  }
  return (
    <Popover label="Export" icon="download" text="Export" side="right">
      {(close) => (
        <div class="menu">
          {EXPORTS.map(({ format, label, extension }) => (
            <button key={format} type="button" class="item" onClick={() => (close(), start(format, extension))}>
              {label} <span class="muted">.{extension}</span>
            </button>
          ))}
        </div>
      )}
    </Popover>
  );
}
