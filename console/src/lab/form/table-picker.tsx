import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { ApiClient } from '../../../../src/client/api-client.ts';
import { listTables } from '../../../../src/client/tables.ts';
import type { TablePath } from '../../../../src/model/identifier.ts';
import { useClient } from '../../api.ts';
import { ErrorBox } from '../../parts/error-box.tsx';
import { TextField } from '../../parts/forms/field.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Empty, Skeleton } from '../../parts/states.tsx';
import { useLoad } from '../../parts/use-load.ts';

interface TablePickerProps {
  readonly title: string;
  readonly onPick: (table: TablePath) => void;
  readonly children: ComponentChildren;
}

const TABLES_READ_MAX = 5000;
const TABLES_SHOWN_MAX = 100;

export function TablePicker({ title, onPick, children }: TablePickerProps): JSX.Element {
  const client = useClient();
  const [text, setText] = useState('');
  const tables = useLoad(async () => readTables(client), [client]);
  const found = (tables.value ?? []).filter((table) => table.join(' / ').toLowerCase().includes(text.toLowerCase()));
  return (
    <div class="view table-picker">
      <h1>{title}</h1>
      <p class="muted">{children}</p>
      <ErrorBox error={tables.error} onRetry={tables.reload} />
      {tables.value === undefined && tables.error === undefined ? <Skeleton /> : null}
      {tables.value?.length === 0 ? <Empty icon="table" title="There are no tables yet" /> : null}
      {tables.value === undefined || tables.value.length === 0 ? null : (
        <>
          <TextField label="Find a table" value={text} onChange={setText} hasFocus />
          <ul class="card">
            {found.slice(0, TABLES_SHOWN_MAX).map((table) => (
              <li key={table.join('/')}>
                <button type="button" onClick={() => onPick(table)}>
                  <Icon name="table" /> {table.join(' / ')}
                </button>
              </li>
            ))}
          </ul>
          {found.length > TABLES_SHOWN_MAX ? (
            <p class="hint">{found.length - TABLES_SHOWN_MAX} more: type a part of the name.</p>
          ) : null}
        </>
      )}
    </div>
  );
}

async function readTables(client: ApiClient): Promise<readonly TablePath[]> {
  const found: TablePath[] = [];
  for await (const table of listTables(client)) {
    found.push(table);
    if (found.length >= TABLES_READ_MAX) break;
  }
  return found;
}
