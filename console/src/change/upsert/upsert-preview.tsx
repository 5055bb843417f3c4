import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { cellOf } from '../../../../src/client/rows.ts';
import { useClient } from '../../api.ts';
import { Button } from '../../parts/button.tsx';
import { ErrorBox } from '../../parts/error-box.tsx';
import { formatCount, formatCountOf } from '../../parts/format.ts';
import { Cell } from '../../parts/grid/cell.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Badge } from '../../parts/states.tsx';
import { useTask } from '../../parts/use-load.ts';
import { usePermissions } from '../../who.tsx';
import { isSame } from '../../table/rows/edit/pending-edits.ts';
import { AfterChange } from '../after-change.tsx';
import { StalePreview } from '../preview-change.ts';
import type { Done } from '../preview-change.ts';
import type { PreparedUpsert, UpsertRow } from './prepare-upsert.ts';

interface UpsertPreviewProps {
  readonly prepared: PreparedUpsert;
  readonly onPreview: () => void;
}

export function UpsertPreview({ prepared, onPreview }: UpsertPreviewProps): JSX.Element {
  const client = useClient();
  const { write: refusal } = usePermissions(prepared.request.table);
  const [done, setDone] = useState<Done>();
  const task = useTask(async () => {
    const { runUpsert } = await import('./prepare-upsert.ts');
    setDone(await runUpsert(client, prepared));
  });
  const { request, version, rows, updated, inserted, sample, columns } = prepared;
  if (done !== undefined) {
    return (
      <AfterChange
        table={request.table}
        branch={request.on.branch}
        before={version}
        done={done}
        verb="upserted"
        onPreview={onPreview}
      />
    );
  }
  return (
    <section class="change-preview" aria-label="Preview">
      <header>
        <h2>
          {formatCountOf(updated, 'row')} would be updated, {formatCount(inserted)} inserted
        </h2>
        <Badge icon="tag">version {version}</Badge>
        {request.on.branch === undefined ? null : <Badge icon="branch">{request.on.branch}</Badge>}
        <span class="spring" />
        <Button kind="primary" isBusy={task.isRunning} isDisabled={rows === 0} refusal={refusal} onClick={task.run}>
          Upsert {formatCountOf(rows, 'row')}
        </Button>
      </header>
      <p class="hint">
        Runs only if the {request.on.branch === undefined ? 'table' : 'branch'} is still at version {version}.
      </p>
      {columns.length < request.writable.length ? (
        <p class="hint">Columns that the rows leave out keep their values; in inserted rows they are null.</p>
      ) : null}
      <ErrorBox error={task.error} {...(task.error instanceof StalePreview ? { onRetry: onPreview } : {})} />
      <SampleRows rows={sample} columns={columns} />
      {rows > sample.length ? <p class="hint">The first {sample.length} of them are shown.</p> : null}
    </section>
  );
}

interface SampleRowsProps {
  readonly rows: readonly UpsertRow[];
  readonly columns: readonly string[];
}

function SampleRows({ rows, columns }: SampleRowsProps): JSX.Element {
  return (
    <div class="grid-frame" role="region" aria-label="Rows before and after" tabIndex={0}>
      <table class="changes">
        <caption class="hidden">Rows before and after</caption>
        <thead>
          <tr>
            <th scope="col">Change</th>
            {columns.map((column) => (
              <th key={column} scope="col">
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ before, after }, index) => (
            <tr key={index}>
              <td>
                <Badge kind={before === undefined ? 'good' : 'warn'}>
                  {before === undefined ? 'insert' : 'update'}
                </Badge>
              </td>
              {columns.map((column) => (
                <td key={column} class="changed">
                  {before === undefined || isSame(cellOf(before, column), cellOf(after, column)) ? (
                    <Cell value={cellOf(after, column)} />
                  ) : (
                    <>
                      <del>
                        <Cell value={cellOf(before, column)} />
                      </del>{' '}
                      <Icon name="right" />{' '}
                      <ins>
                        <Cell value={cellOf(after, column)} />
                      </ins>
                    </>
                  )}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
