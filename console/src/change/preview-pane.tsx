import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { cellOf } from '../../../src/client/rows.ts';
import type { TablePath } from '../../../src/model/identifier.ts';
import { formatRows } from '../../../src/plans/format-figure.ts';
import { useClient } from '../api.ts';
import { Button } from '../parts/button.tsx';
import { Cell } from '../parts/grid/cell.tsx';
import { ErrorBox } from '../parts/error-box.tsx';
import { Icon } from '../parts/icon.tsx';
import { Badge, Empty } from '../parts/states.tsx';
import { useTask } from '../parts/use-load.ts';
import { usePermissions } from '../who.tsx';
import { AfterChange } from './after-change.tsx';
import { ROWS_SHOWN, StalePreview, runChange } from './preview-change.ts';
import type { ChangedRow, Done, Preview } from './preview-change.ts';

interface PreviewPaneProps {
  readonly table: TablePath;
  readonly preview: Preview;
  /** Whether the form is unchanged since the preview. */
  readonly isCurrent: boolean;
  readonly onPreview: () => void;
}

export function PreviewPane({ table, preview, isCurrent, onPreview }: PreviewPaneProps): JSX.Element {
  const client = useClient();
  const [done, setDone] = useState<Done | undefined>();
  const task = useTask(async () => setDone(await runChange(client, table, preview)));
  const { write: refusal } = usePermissions(table);
  const { form, count, version } = preview;
  if (done !== undefined) {
    const verb = form.kind === 'delete' ? 'deleted' : 'updated';
    const branch = form.branch === '' ? undefined : form.branch;
    return <AfterChange table={table} branch={branch} before={version} done={done} verb={verb} onPreview={onPreview} />;
  }
  if (count === 0) {
    return (
      <Empty icon="search" title="No rows would change">
        <p>The condition matches no rows of version {version}.</p>
      </Empty>
    );
  }
  const verb = form.kind === 'delete' ? 'Delete' : 'Update';
  return (
    <section class="change-preview" aria-label="Preview">
      <header>
        <h2>
          {formatRows(count)} would {form.kind === 'delete' ? 'be deleted' : 'change'}
        </h2>
        <Badge icon="tag">version {version}</Badge>
        {form.branch === '' ? null : <Badge icon="branch">{form.branch}</Badge>}
        <span class="spring" />
        <Button
          kind={form.kind === 'delete' ? 'danger' : 'primary'}
          isBusy={task.isRunning}
          isDisabled={!isCurrent}
          refusal={refusal}
          onClick={task.run}
        >
          {verb} exactly these {formatRows(count)}
        </Button>
      </header>
      <p class="hint">
        {isCurrent
          ? `Runs only if the ${form.branch === '' ? 'table' : 'branch'} is still at version ${version} (checked with If-Match).`
          : 'The form has changed since the preview. Preview again.'}
      </p>
      <ErrorBox error={task.error} {...(task.error instanceof StalePreview ? { onRetry: onPreview } : {})} />
      <ChangedRows rows={preview.rows} isDelete={form.kind === 'delete'} />
      {count > ROWS_SHOWN ? <p class="hint">The first {ROWS_SHOWN} of them are shown.</p> : null}
    </section>
  );
}

interface ChangedRowsProps {
  readonly rows: readonly ChangedRow[];
  readonly isDelete: boolean;
}

function ChangedRows({ rows, isDelete }: ChangedRowsProps): JSX.Element {
  const [first] = rows;
  const others = Object.keys(first?.others ?? {});
  const paths = (first?.cells ?? []).map(({ path }) => path);
  return (
    <div class="grid-frame" tabIndex={0}>
      <table class={isDelete ? 'changes going' : 'changes'}>
        <caption class="hidden">{isDelete ? 'Rows that would be deleted' : 'Rows before and after'}</caption>
        <thead>
          <tr>
            {paths.map((path) => (
              <th key={path} scope="col">
                {path} <small>before → after</small>
              </th>
            ))}
            {others.map((path) => (
              <th key={path} scope="col">
                {path}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={index}>
              {row.cells.map(({ path, before, after }) => (
                <td key={path} class={isSame(before, after) ? 'same' : 'changed'}>
                  <del>
                    <Cell value={before} />
                  </del>{' '}
                  <Icon name="right" />{' '}
                  <ins>
                    <Cell value={after} />
                  </ins>
                </td>
              ))}
              {others.map((path) => (
                <td key={path}>
                  <Cell value={cellOf(row.others, path)} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function isSame(before: unknown, after: unknown): boolean {
  return before === after || (typeof before === 'object' && JSON.stringify(before) === JSON.stringify(after));
}
