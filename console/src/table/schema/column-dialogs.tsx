import type { JSX } from 'preact';
import { useId, useState } from 'preact/hooks';
import { alterColumns, dropColumns } from '../../../../src/client/columns.ts';
import { useClient } from '../../api.ts';
import { ConfirmDialog, FormDialog } from '../../parts/dialog.tsx';
import { CheckField, Field, TextField } from '../../parts/forms/field.tsx';
import { isKept } from '../../parts/forms/typed-names.ts';
import { typeText } from '../../parts/grid/field-type.ts';
import type { PlacedField } from '../../parts/grid/field-type.ts';
import { toast } from '../../parts/toasts.tsx';
import { branchOf } from '../described-table.ts';
import type { DescribedTable } from '../described-table.ts';
import { COLUMN_TYPES, toDataType } from './column-type.ts';

interface ColumnDialogProps {
  readonly table: DescribedTable;
  readonly placed: PlacedField;
  readonly onChanged: () => void;
  readonly onClose: () => void;
}

/** Renames a column, or changes its type or nullability, in one version. */
export function AlterColumnDialog({ table, placed, onChanged, onClose }: ColumnDialogProps): JSX.Element {
  const client = useClient();
  const { field, path } = placed;
  const before = typeText(field.type);
  const [name, setName] = useState(field.name);
  const [type, setType] = useState(before);
  const [isNullable, setIsNullable] = useState(field.nullable);
  const alteration = {
    ...(isKept(name, field.name) ? {} : { rename: name.trim() }),
    ...(isKept(type, before) ? {} : { data_type: toDataType(type) }),
    ...(isNullable === field.nullable ? {} : { nullable: isNullable }),
  };
  const save = async (): Promise<void> => {
    const { version } = await alterColumns(client, table.path, {
      ...branchOf(table),
      alterations: [{ path, ...alteration }],
    });
    toast(`${path} was changed. The table is at version ${version}.`);
    onChanged();
  };
  return (
    <FormDialog
      title={`Change ${path}`}
      action="Change"
      isReady={name.trim() !== '' && Object.keys(alteration).length > 0}
      onSubmit={save}
      onClose={onClose}
    >
      <TextField label="Name" value={name} onChange={setName} hasFocus isRequired isMono />
      <TypeField
        value={type}
        onChange={setType}
        hint={isKept(type, before) ? undefined : `Was ${before}. Every row is written again.`}
      />
      <CheckField label="May be null" isChecked={isNullable} onChange={setIsNullable} />
    </FormDialog>
  );
}

interface TypeFieldProps {
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly hint?: string | undefined;
}

export function TypeField({ value, onChange, hint }: TypeFieldProps): JSX.Element {
  const listId = useId();
  return (
    <Field label="Type" hint={hint ?? 'Such as int64, utf8, timestamp[us, UTC], float32[128] for vectors.'}>
      {({ id, hintId }) => (
        <>
          <input
            id={id}
            class="mono"
            list={listId}
            aria-describedby={hintId}
            spellcheck={false}
            autocomplete="off"
            value={value}
            onInput={(event) => onChange(event.currentTarget.value)}
          />
          <datalist id={listId}>
            {COLUMN_TYPES.map((type) => (
              <option key={type} value={type} />
            ))}
          </datalist>
        </>
      )}
    </Field>
  );
}

export function DropColumnDialog({ table, placed, onChanged, onClose }: ColumnDialogProps): JSX.Element {
  const client = useClient();
  const { path } = placed;
  const drop = async (): Promise<void> => {
    const { version } = await dropColumns(client, table.path, { ...branchOf(table), columns: [path] });
    toast(`${path} was dropped. The table is at version ${version}.`);
    onChanged();
  };
  return (
    <ConfirmDialog title={`Drop ${path}?`} action="Drop" wantedText={path} onConfirm={drop} onClose={onClose}>
      <p>
        The next version has neither the column nor its indexes. You can restore version {table.version}, which has
        them, until it is cleaned up.
      </p>
    </ConfirmDialog>
  );
}
