import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { TablePath } from '../../../src/model/identifier.ts';
import { formatRows } from '../../../src/plans/format-figure.ts';
import { useClient } from '../api.ts';
import { Button } from '../parts/button.tsx';
import { ErrorBox } from '../parts/error-box.tsx';
import { Icon } from '../parts/icon.tsx';
import { useTask } from '../parts/use-load.ts';
import { undoChange } from './preview-change.ts';
import type { Done } from './preview-change.ts';

interface AfterChangeProps {
  readonly table: TablePath;
  readonly branch: string | undefined;
  /** The version on which the change was made. */
  readonly before: number;
  readonly done: Done;
  readonly verb: string;
  readonly onPreview: () => void;
}

/** Shows what was done, and how to undo it. */
export function AfterChange({ table, branch, before, done, verb, onPreview }: AfterChangeProps): JSX.Element {
  const client = useClient();
  const [undone, setUndone] = useState<number | undefined>();
  const task = useTask(async () => {
    const on = branch === undefined ? {} : { branch };
    setUndone(await undoChange(client, table, { ...on, from: before, to: done.version }));
  });
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
              ? `${branch === undefined ? 'The table' : `The branch ${branch}`} is now at version ${done.version}; it was at ${before}.`
              : `Undone: version ${undone} has the same contents as version ${before}.`}
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
        <p class="hint">Undo restores version {before} as a new version, if nothing else was written since.</p>
      ) : null}
    </section>
  );
}
