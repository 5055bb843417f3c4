import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { startIndex } from '../../../../src/client/tables.ts';
import type { CreateIndexBody } from '../../../../src/wire/indexes.ts';
import { useClient } from '../../api.ts';
import { CopyAs } from '../../code/copy-as.tsx';
import { FormDialog } from '../../parts/dialog.tsx';
import { CheckField, SelectField, TextField } from '../../parts/forms/field.tsx';
import { listFields, typeText } from '../../parts/grid/field-type.ts';
import type { DescribedTable } from '../described-table.ts';
import type { IndexJob } from './index-jobs.tsx';
import { explainNone, kindsFor } from './index-kinds.ts';
import type { IndexKind, Parameter } from './index-kinds.ts';

interface BuildIndexDialogProps {
  readonly table: DescribedTable;
  readonly onStarted: (job: IndexJob) => void;
  readonly onClose: () => void;
}

type Values = Readonly<Record<string, string>>;

const AUTOMATIC = { value: '', label: 'Automatic' };

/** The type of the column determines the offered index types and parameters. */
export function BuildIndexDialog({ table, onStarted, onClose }: BuildIndexDialogProps): JSX.Element {
  const client = useClient();
  const fields = listFields(table.schema.fields).filter(({ field }) => field.type.type !== 'struct');
  const [column, setColumn] = useState(() => fields.find(({ field }) => kindsFor(field).length > 0)?.path ?? '');
  const [type, setType] = useState('');
  const [name, setName] = useState('');
  const [values, setValues] = useState<Values>({});
  const field = fields.find(({ path }) => path === column)?.field;
  const kinds = field === undefined ? [] : kindsFor(field);
  const kind = kinds.find((each) => each.type === type);
  const hasFault = kind?.parameters.some((each) => findFault(each, values[each.name]) !== undefined) === true;
  const toBody = (): CreateIndexBody => ({
    column,
    ...(kind === undefined ? {} : { index_type: kind.type }),
    ...(name.trim() === '' ? {} : { name: name.trim() }),
    ...(table.at.branch === undefined ? {} : { branch: table.at.branch }),
    ...(kind === undefined ? {} : toParameters(kind, values)),
  });
  const start = async (): Promise<void> => {
    const reply = await startIndex(client, table.path, toBody());
    onStarted({ id: reply.job_id, name: reply.index_name });
  };
  return (
    <FormDialog
      title="Build an index"
      action="Build"
      isReady={kinds.length > 0 && !hasFault}
      onSubmit={start}
      onClose={onClose}
    >
      <SelectField
        label="Column"
        value={column}
        options={fields.map((each) => ({ value: each.path, label: `${each.path} (${typeText(each.field.type)})` }))}
        onChange={setColumn}
        hint={field !== undefined && kinds.length === 0 ? explainNone(field) : undefined}
      />
      <SelectField
        label="Type"
        value={kind?.type ?? ''}
        options={[AUTOMATIC, ...kinds.map((each) => ({ value: each.type, label: each.label }))]}
        onChange={setType}
        hint={kind?.meaning ?? 'The server chooses by the type of the column and what is in it.'}
      />
      <TextField label="Name" value={name} onChange={setName} placeholder={`${column}_idx`} />
      {kind === undefined || kind.parameters.length === 0 ? null : (
        <div class="columns">
          {kind.parameters.map((parameter) => (
            <ParameterField
              key={parameter.name}
              parameter={parameter}
              value={values[parameter.name]}
              onChange={(value) => setValues((before) => ({ ...before, [parameter.name]: value }))}
            />
          ))}
        </div>
      )}
      <CopyAs table={table.path} operation={() => ({ name: 'create_index', body: toBody() })} />
    </FormDialog>
  );
}

interface ParameterFieldProps {
  readonly parameter: Parameter;
  readonly value: string | undefined;
  readonly onChange: (value: string) => void;
}

function ParameterField({ parameter, value, onChange }: ParameterFieldProps): JSX.Element {
  const { label, hint, kind, choices = [], isUsual = false } = parameter;
  switch (kind) {
    case 'flag':
      return (
        <CheckField
          label={label}
          isChecked={value === undefined ? isUsual : value === 'true'}
          onChange={(isChecked) => onChange(String(isChecked))}
        />
      );
    case 'choice':
      return (
        <SelectField
          label={label}
          value={value ?? choices[0] ?? ''}
          options={choices.map((choice) => ({ value: choice }))}
          onChange={onChange}
        />
      );
    case 'number':
      return (
        <TextField
          label={label}
          value={value ?? ''}
          onChange={onChange}
          hint={hint}
          fault={findFault(parameter, value)}
          placeholder="automatic"
          isNumber
        />
      );
  }
}

function findFault({ kind }: Parameter, value = ''): string | undefined {
  return kind === 'number' && !/^\d*$/.test(value.trim()) ? 'Enter a whole number.' : undefined;
}

/** The engine chooses parameters that were not entered. */
function toParameters(kind: IndexKind, values: Values): Partial<CreateIndexBody> {
  const given = kind.parameters.flatMap(({ name, kind: form }) => {
    const text = values[name]?.trim() ?? '';
    if (text === '') return [];
    return [[name, form === 'number' ? Number(text) : form === 'flag' ? text === 'true' : text] as const];
  });
  return Object.fromEntries(given);
}
