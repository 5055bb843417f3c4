import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { callTable } from '../../../src/client/tables.ts';
import type { UpdateFieldMetadataReply } from '../../../src/wire/columns.ts';
import { useClient } from '../api.ts';
import { Button } from '../parts/button.tsx';
import { FormDialog } from '../parts/dialog.tsx';
import { listFields, typeText } from '../parts/field-type.ts';
import type { PlacedField } from '../parts/field-type.ts';
import { formatCountOf } from '../parts/format.ts';
import { PairsEditor, toPairs, toRecord } from '../parts/pairs-editor.tsx';
import { Badge } from '../parts/states.tsx';
import { toast } from '../parts/toasts.tsx';
import type { DescribedTable, TabProps } from './described-table.ts';

type Edited = { readonly kind: 'schema' } | { readonly kind: 'field'; readonly placed: PlacedField };

export function SchemaTab({ table, onChanged }: TabProps): JSX.Element {
  const [edited, setEdited] = useState<Edited>();
  const fields = listFields(table.schema.fields);
  const isLatest = table.at.version === undefined;
  return (
    <div class="schema">
      <table class="list" aria-label="Fields">
        <thead>
          <tr>
            <th scope="col">Field</th>
            <th scope="col">Type</th>
            <th scope="col">Nulls</th>
            <th scope="col">Metadata</th>
            <th scope="col">
              <span class="hidden">Edit</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {fields.map((placed) => (
            <FieldRow
              key={placed.path}
              placed={placed}
              onEdit={isLatest ? () => setEdited({ kind: 'field', placed }) : undefined}
            />
          ))}
        </tbody>
      </table>
      <section class="beside">
        <header>
          <h2>Metadata of the schema</h2>
          {isLatest ? (
            <Button
              kind="quiet"
              icon="edit"
              label="Edit the schema's metadata"
              onClick={() => setEdited({ kind: 'schema' })}
            />
          ) : null}
        </header>
        <Pairs record={table.schema.metadata ?? {}} empty="none" />
        <h2>Properties of the table</h2>
        <Pairs record={table.properties} empty="none" />
        <p class="hint">
          {formatCountOf(table.schema.fields.length, 'column')}, version {table.version}
        </p>
      </section>
      {edited === undefined ? null : (
        <MetadataDialog table={table} edited={edited} onChanged={onChanged} onClose={() => setEdited(undefined)} />
      )}
    </div>
  );
}

interface FieldRowProps {
  readonly placed: PlacedField;
  readonly onEdit: (() => void) | undefined;
}

function FieldRow({ placed, onEdit }: FieldRowProps): JSX.Element {
  const { field, path, level } = placed;
  return (
    <tr>
      <td>
        <span class="field-name" style={{ paddingLeft: `${(level - 1) * 20}px` }}>
          {level > 1 ? <span class="muted">└ </span> : null}
          {field.name}
        </span>
      </td>
      <td>
        <code>{typeText(field.type)}</code>
      </td>
      <td>{field.nullable ? <span class="muted">allowed</span> : <Badge>never</Badge>}</td>
      <td>
        <Pairs record={field.metadata ?? {}} empty="" />
      </td>
      <td class="right">
        {onEdit === undefined ? null : (
          <Button kind="quiet" icon="edit" label={`Edit the metadata of ${path}`} onClick={onEdit} />
        )}
      </td>
    </tr>
  );
}

function Pairs({
  record,
  empty,
}: {
  readonly record: Readonly<Record<string, string>>;
  readonly empty: string;
}): JSX.Element {
  const entries = Object.entries(record);
  if (entries.length === 0) return <span class="muted">{empty}</span>;
  return (
    <span class="pair-list">
      {entries.map(([name, value]) => (
        <span key={name} class="pair" title={`${name}: ${value}`}>
          <span>{name}</span>
          <span>{value}</span>
        </span>
      ))}
    </span>
  );
}

interface MetadataDialogProps {
  readonly table: DescribedTable;
  readonly edited: Edited;
  readonly onChanged: () => void;
  readonly onClose: () => void;
}

function MetadataDialog({ table, edited, onChanged, onClose }: MetadataDialogProps): JSX.Element {
  const client = useClient();
  const before = edited.kind === 'field' ? edited.placed.field.metadata : table.schema.metadata;
  const [pairs, setPairs] = useState(() => toPairs(before ?? {}));
  const onBranch = table.at.branch === undefined ? {} : { branch: table.at.branch };
  const save = async (): Promise<void> => {
    const metadata = toRecord(pairs);
    if (edited.kind === 'field') {
      const update = { path: edited.placed.path, metadata, replace: true };
      await callTable<UpdateFieldMetadataReply>(client, table.path, 'update_field_metadata', {
        ...onBranch,
        updates: [update],
      });
    } else {
      await callTable(client, table.path, 'schema_metadata/update', { ...onBranch, metadata });
    }
    toast('The metadata was saved.');
    onChanged();
  };
  const title = edited.kind === 'field' ? `Metadata of ${edited.placed.path}` : 'Metadata of the schema';
  return (
    <FormDialog title={title} action="Save" onSubmit={save} onClose={onClose}>
      <PairsEditor label="Names and values" pairs={pairs} onChange={setPairs} />
      <p class="hint">Saving makes a new version of the table.</p>
    </FormDialog>
  );
}
