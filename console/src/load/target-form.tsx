import type { JSX } from 'preact';
import { useMemo, useRef, useState } from 'preact/hooks';
import type { NamespacePath } from '../../../src/model/identifier.ts';
import { newKey } from '../api.ts';
import { tablePathOf } from '../links.ts';
import { Button } from '../parts/button.tsx';
import { ErrorBox } from '../parts/error-box.tsx';
import { formatCountOf } from '../parts/format.ts';
import { TextField } from '../parts/forms/field.tsx';
import { readName, readPath } from '../parts/forms/typed-names.ts';
import { Meter } from '../parts/states.tsx';
import { useTask } from '../parts/use-load.ts';
import type { Session } from '../session.ts';
import { isVectorType } from './opened-file.ts';
import type { OpenedFile } from './opened-file.ts';
import { usePermissions } from '../who.tsx';
import { sendFile } from './send-file.ts';
import type { LoadMode, Loaded, Progress } from './send-file.ts';

interface TargetFormProps {
  readonly opened: OpenedFile;
  readonly session: Session;
  readonly namespace: NamespacePath;
  readonly table: string | undefined;
  readonly onLoaded: (loaded: Loaded) => void;
}

const MODES: readonly { readonly mode: LoadMode; readonly label: string; readonly meaning: string }[] = [
  { mode: 'create', label: 'Create', meaning: 'Creates a table. Refused if the name is taken.' },
  {
    mode: 'append',
    label: 'Append',
    meaning: 'Adds the rows to an existing table; columns are matched by name.',
  },
  { mode: 'overwrite', label: 'Overwrite', meaning: 'Replaces all rows of the table; older versions remain.' },
];

export function TargetForm({ opened, session, namespace, table, onLoaded }: TargetFormProps): JSX.Element {
  const [where, setWhere] = useState(namespace.join('/'));
  const [name, setName] = useState(table ?? nameOf(opened.file.name));
  const [mode, setMode] = useState<LoadMode>(table === undefined ? 'create' : 'append');
  const [progress, setProgress] = useState<Progress>();
  const key = useMemo(newKey, [opened, where, name, mode]);
  const stop = useRef<AbortController | undefined>(undefined);
  const path = tablePathOf(readPath(where, namespace), readName(name, table));
  const { write: refusal } = usePermissions(path);
  const task = useTask(async () => {
    stop.current = new AbortController();
    try {
      onLoaded(
        await sendFile(
          opened,
          { table: path, mode, key },
          { session, onProgress: setProgress, signal: stop.current.signal },
        ),
      );
    } finally {
      setProgress(undefined);
    }
  });
  const submit = (event: Event): void => {
    event.preventDefault();
    if (refusal === undefined) task.run();
  };
  return (
    <form class="card target" onSubmit={submit}>
      <div class="segments" role="radiogroup" aria-label="How to load">
        {MODES.map((each) => (
          <label key={each.mode}>
            <input type="radio" name="mode" checked={each.mode === mode} onChange={() => setMode(each.mode)} />
            <span>{each.label}</span>
          </label>
        ))}
      </div>
      <p class="hint">{MODES.find((each) => each.mode === mode)?.meaning}</p>
      <TextField label="Table" value={name} onChange={setName} isRequired />
      <TextField
        label="Namespace"
        value={where}
        onChange={setWhere}
        placeholder="the root of the database"
        hint="Separate names with /."
      />
      <p class="hint sent" aria-label="What is sent">
        {describe(opened)}
      </p>
      <ErrorBox error={task.error} />
      {progress === undefined ? null : (
        <div role="status">
          <Meter label={progress.words} share={progress.share} />
          <p class="hint">{progress.words} …</p>
        </div>
      )}
      <footer>
        {task.isRunning ? <Button onClick={() => stop.current?.abort()}>Stop</Button> : null}
        <Button
          submits
          kind="primary"
          icon="upload"
          isBusy={task.isRunning}
          isDisabled={name.trim() === ''}
          refusal={refusal}
        >
          Load
        </Button>
      </footer>
    </form>
  );
}

/** What will be sent. */
function describe({ rowCount, columns }: OpenedFile): string {
  const kept = columns.filter(({ isKept }) => isKept);
  const vectors = kept.filter(({ type }) => isVectorType(type)).length;
  const rows = rowCount === undefined ? 'all rows' : formatCountOf(rowCount, 'row');
  const left =
    columns.length === kept.length ? '' : ` ${formatCountOf(columns.length - kept.length, 'column')} left out.`;
  const parts = vectors === 0 ? '' : `, ${formatCountOf(vectors, 'vector')} among them`;
  return `Sends ${rows} of ${formatCountOf(kept.length, 'column')}${parts}.${left} Either all rows are loaded or none.`;
}

function nameOf(file: string): string {
  return file.replace(/\.[^.]+$/, '').replaceAll(/[^\p{L}\p{N}_-]+/gu, '_');
}
