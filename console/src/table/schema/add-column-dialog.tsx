import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { ApiClient } from '../../../../src/client/api-client.ts';
import { waitForJob } from '../../../../src/client/calls.ts';
import { addColumns, startBackfill } from '../../../../src/client/views.ts';
import { formatFieldPath } from '../../../../src/model/field-path.ts';
import { useClient } from '../../api.ts';
import { FormDialog } from '../../parts/dialog.tsx';
import { CheckField, Segments, TextField } from '../../parts/forms/field.tsx';
import { SqlBox } from '../../parts/forms/sql-box.tsx';
import { listFields } from '../../parts/grid/field-type.ts';
import { toast, toastError } from '../../parts/toasts.tsx';
import { branchOf } from '../described-table.ts';
import type { DescribedTable } from '../described-table.ts';
import { TypeField } from './column-dialogs.tsx';
import { toDataType } from './column-type.ts';

interface AddColumnDialogProps {
  readonly table: DescribedTable;
  readonly onChanged: () => void;
  readonly onClose: () => void;
}

const KINDS = [
  ['value', 'Calculated once'],
  ['computed', 'Computed column'],
  ['null', 'Empty'],
] as const;
type Kind = (typeof KINDS)[number][0];

const MEANINGS: Readonly<Record<Kind, string>> = {
  value: 'SQL sets the values of existing rows, once. Rows that are added later get the values that you write.',
  computed: 'SQL computes the value of every row, including those that are added or changed later.',
  null: 'All values are null until they are written.',
};

export function AddColumnDialog({ table, onChanged, onClose }: AddColumnDialogProps): JSX.Element {
  const client = useClient();
  const [kind, setKind] = useState<Kind>('value');
  const [name, setName] = useState('');
  const [sql, setSql] = useState('');
  const [type, setType] = useState('utf8');
  const [isFilled, setIsFilled] = useState(true);
  const isReady = name.trim() !== '' && (kind === 'null' ? type : sql).trim() !== '';
  const save = async (): Promise<void> => {
    const column = { name: name.trim(), ...definitionOf(kind, sql.trim(), type) };
    const { version } = await addColumns(client, table.path, { ...branchOf(table), new_columns: [column] });
    toast(`${column.name} was added. The table is at version ${version}.`);
    onChanged();
    if (kind === 'computed' && isFilled) fill(client, table, column.name).then(onChanged, toastError);
  };
  return (
    <FormDialog title="Add a column" action="Add" isReady={isReady} onSubmit={save} onClose={onClose}>
      <TextField label="Name" value={name} onChange={setName} hasFocus isRequired isMono />
      <Segments label="Values of the column" value={kind} options={KINDS} onChange={setKind} />
      <p class="hint">{MEANINGS[kind]}</p>
      {kind === 'null' ? (
        <TypeField value={type} onChange={setType} />
      ) : (
        <SqlBox
          label="SQL expression"
          value={sql}
          onChange={setSql}
          onSubmit={() => undefined}
          placeholder="price * 1.19"
          place="expression"
          fields={listFields(table.schema.fields).map(({ path }) => path)}
        />
      )}
      {kind === 'computed' ? (
        <CheckField label="Fill existing rows" isChecked={isFilled} onChange={setIsFilled} />
      ) : null}
    </FormDialog>
  );
}

function definitionOf(kind: Kind, sql: string, type: string) {
  if (kind === 'null') return { data_type: toDataType(type) };
  return kind === 'computed' ? { computed: sql } : { expression: sql };
}

async function fill(client: ApiClient, table: DescribedTable, name: string): Promise<void> {
  const { job_id: id } = await startBackfill(client, table.path, {
    ...branchOf(table),
    column: formatFieldPath([name]),
  });
  const { failure } = await waitForJob(client, id);
  if (failure !== undefined) throw new Error(`${name} could not be filled: ${failure.message}`);
  toast(`${name} is filled.`);
}
