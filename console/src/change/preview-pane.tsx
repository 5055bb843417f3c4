import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { restoreTable } from '../../../src/client/history.ts';
import type { TablePath } from '../../../src/model/identifier.ts';
import { formatRows } from '../../../src/plans/format-figure.ts';
import { useClient } from '../api.ts';
import { ResultValue } from '../lab/lab-results.tsx';
import { Button } from '../parts/button.tsx';
import { ErrorBox } from '../parts/error-box.tsx';
import { Icon } from '../parts/icon.tsx';
import { Badge, Empty } from '../parts/states.tsx';
import { useTask } from '../parts/use-load.ts';
import { branchOf } from './change-form.ts';
import { ROWS_SHOWN, StalePreview, runChange } from './preview-change.ts';
import type { ChangedRow, Done, Preview } from './preview-change.ts';

interface PreviewPaneProps {
  readonly table: TablePath;
  readonly preview: Preview;
  /** The form has not changed since the preview. */
  readonly isCurrent: boolean;
  readonly onPreview: () => void;
}

export function PreviewPane({ table, preview, isCurrent, onPreview }: PreviewPaneProps): JSX.Element {
  const client = useClient();
  const [done, setDone] = useState<Done | undefined>();
  const task = useTask(async () => setDone(await runChange(client, table, preview)));
  const { form, count, version } = preview;
  if (done !== undefined) return <AfterChange table={table} preview={preview} done={done} onPreview={onPreview} />;
  if (count === 0) {
    return (
      <Empty icon="search" title="No row would change">
        <p>The condition selects none of the rows of version {version}.</p>
      </Empty>
    );
  }
  const verb = form.kind === 'delete' ? 'Delete' : 'Update';
  return (
    <section class="change-preview" aria-label="Preview">
      <header>
        <h2>
          {formatRows(count)} would {form.kind === 'delete' ? 'go' : 'change'}
        </h2>
        <Badge icon="tag">version {version}</Badge>
        {form.branch === '' ? null : <Badge icon="branch">{form.branch}</Badge>}
        <span class="spring" />
        <Button
          kind={form.kind === 'delete' ? 'danger' : 'primary'}
          isBusy={task.isRunning}
          isDisabled={!isCurrent}
          onClick={task.run}
        >
          {verb} exactly these {formatRows(count)}
        </Button>
      </header>
      <p class="hint">
        {isCurrent
          ? `Runs only while the ${form.branch === '' ? 'table' : 'branch'} is at version ${version}: it is compared just before, and the server is told it with If-Match.`
          : 'The form has changed since: preview again.'}
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
    <div class="grid-frame">
      <table class={isDelete ? 'changes going' : 'changes'}>
        <caption class="hidden">{isDelete ? 'Rows that would go' : 'Rows before and after'}</caption>
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
                    <ResultValue value={before} />
                  </del>{' '}
                  <Icon name="right" />{' '}
                  <ins>
                    <ResultValue value={after} />
                  </ins>
                </td>
              ))}
              {others.map((path) => (
                <td key={path}>
                  <ResultValue value={row.others[path]} />
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

function whatOf({ form }: Preview): string {
  return form.branch === '' ? 'The table' : `The branch ${form.branch}`;
}

interface AfterChangeProps {
  readonly table: TablePath;
  readonly preview: Preview;
  readonly done: Done;
  readonly onPreview: () => void;
}

function AfterChange({ table, preview, done, onPreview }: AfterChangeProps): JSX.Element {
  const client = useClient();
  const [undone, setUndone] = useState<number | undefined>();
  const task = useTask(async () => {
    const { version } = await restoreTable(client, table, { ...branchOf(preview.form), version: preview.version });
    setUndone(version);
  });
  const verb = preview.form.kind === 'delete' ? 'deleted' : 'updated';
  return (
    <section class="change-preview done" aria-label="Done">
      <div class="card" role="status">
        <Icon name="check" />
        <div>
          <h2>
            {formatRows(done.rows)} {verb}
          </h2>
          <p class="muted">
            {undone === undefined
              ? `${whatOf(preview)} is at version ${done.version}; before it was at ${preview.version}.`
              : `Undone: version ${undone} has the contents of version ${preview.version} again.`}
          </p>
        </div>
        <span class="spring" />
        {undone === undefined ? (
          <Button icon="refresh" isBusy={task.isRunning} onClick={task.run}>
            Undo
          </Button>
        ) : null}
        <Button onClick={onPreview}>Preview again</Button>
      </div>
      <ErrorBox error={task.error} />
      {undone === undefined ? (
        <p class="hint">
          Undo restores version {preview.version} as a new version; writes that others made since would be undone with
          it.
        </p>
      ) : null}
    </section>
  );
}
