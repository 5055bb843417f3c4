import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { NamespacePath } from '../../../src/model/identifier.ts';
import { tablePathOf } from '../links.ts';
import { Button } from '../parts/button.tsx';
import { ErrorBox } from '../parts/error-box.tsx';
import { formatCountOf } from '../parts/format.ts';
import { TextField } from '../parts/forms/field.tsx';
import { readName, readPath } from '../parts/forms/typed-names.ts';
import { Meter } from '../parts/states.tsx';
import type { Session } from '../session.ts';
import { startLoad } from './kept-loads.ts';
import type { KeptLoad } from './kept-loads.ts';
import { isVectorType } from './opened-file.ts';
import type { OpenedFile } from './opened-file.ts';
import { usePermissions } from '../who.tsx';
import type { LoadMode } from './send-file.ts';

interface TargetFormProps {
  readonly opened: OpenedFile;
  /** A running or failed load. */
  readonly load: KeptLoad | undefined;
  readonly session: Session;
  readonly namespace: NamespacePath;
  readonly table: string | undefined;
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

export function TargetForm({ opened, load, session, namespace, table }: TargetFormProps): JSX.Element {
  const [given] = useState(() => load?.target.table ?? [...namespace, table ?? nameOf(opened.file.name)]);
  const [where, setWhere] = useState(given.slice(0, -1).join('/'));
  const [name, setName] = useState(given.at(-1) ?? '');
  const [mode, setMode] = useState(load?.target.mode ?? (table === undefined ? 'create' : 'append'));
  const path = tablePathOf(readPath(where, given.slice(0, -1)), readName(name, given.at(-1)));
  const { write: refusal } = usePermissions(path);
  const isRunning = load?.isRunning === true;
  const progress = isRunning ? load.progress : undefined;
  const submit = (event: Event): void => {
    event.preventDefault();
    if (refusal === undefined) void startLoad(opened, { table: path, mode }, session);
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
      <ErrorBox error={load?.error} />
      {progress === undefined ? null : (
        <div role="status">
          <Meter label={progress.words} share={progress.share} />
          <p class="hint">{progress.words} …</p>
        </div>
      )}
      <footer>
        {isRunning ? <Button onClick={load.stop}>Stop</Button> : null}
        <Button
          submits
          kind="primary"
          icon="upload"
          isBusy={isRunning}
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
