import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { callTable } from '../../../../src/client/calls.ts';
import { startBackfill } from '../../../../src/client/views.ts';
import { VIEW_PROPERTY, VIEW_STATE_PROPERTY } from '../../../../src/model/derived/view.ts';
import { COMPUTED_KEY } from '../../../../src/model/schema.ts';
import { useClient } from '../../api.ts';
import { Button } from '../../parts/button.tsx';
import { listFields, typeText } from '../../parts/grid/field-type.ts';
import type { PlacedField } from '../../parts/grid/field-type.ts';
import { formatCountOf } from '../../parts/format.ts';
import { Heads, hidden } from '../../parts/grid/pager.tsx';
import { MenuItem, Popover } from '../../parts/popover.tsx';
import { Badge } from '../../parts/states.tsx';
import { branchOf } from '../described-table.ts';
import type { DescribedTable, TabProps } from '../described-table.ts';
import { AddColumnDialog } from './add-column-dialog.tsx';
import { AlterColumnDialog, DropColumnDialog } from './column-dialogs.tsx';
import { JobButton } from './job-button.tsx';
import { MetadataPairs } from './metadata-pairs.tsx';
import type { MetadataChange } from './pair-form.tsx';
import { VectorButton } from './vector-button.tsx';
import { ViewPanel } from '../view/view-panel.tsx';
import { usePermissions } from '../../who.tsx';

export function SchemaTab({ table, onChanged }: TabProps): JSX.Element {
  const [action, setAction] = useState<ColumnAction>();
  const fields = listFields(table.schema.fields);
  const { write: refusal } = usePermissions(table.path);
  const isLatest = table.at.version === undefined;
  const edit = useEdits(table, onChanged, isLatest && refusal === undefined);
  const { [VIEW_PROPERTY]: view, [VIEW_STATE_PROPERTY]: _state, ...properties } = table.properties;
  const canAlter = edit !== undefined && view === undefined;
  return (
    <div class="schema">
      <div class="fields">
        <div class="scrolled">
          <table class="list" aria-label="Fields">
            <Heads heads={['Field', 'Type', 'Nulls', 'Metadata', hidden('Actions')]} />
            <tbody>
              {fields.map((placed) => (
                <FieldRow
                  key={placed.path}
                  table={table}
                  placed={placed}
                  onSave={edit === undefined ? undefined : async (change) => edit.field(placed.path, change)}
                  onFill={edit?.fill}
                  onAction={canAlter ? setAction : undefined}
                  onChanged={onChanged}
                />
              ))}
            </tbody>
          </table>
        </div>
        {isLatest && view === undefined ? (
          <Button icon="add" refusal={refusal} onClick={() => setAction({ kind: 'add' })}>
            Add a column
          </Button>
        ) : null}
      </div>
      <ColumnDialog action={action} table={table} onChanged={onChanged} onClose={() => setAction(undefined)} />
      <section class="beside">
        {view === undefined ? null : (
          <ViewPanel table={table} canRefresh={isLatest} refusal={refusal} onChanged={onChanged} />
        )}
        <h2>Metadata of the schema</h2>
        <MetadataPairs owner="the schema" record={table.schema.metadata} onSave={edit?.schema} />
        <h2>Properties of the table</h2>
        {Object.keys(properties).length === 0 ? <span class="muted">none</span> : null}
        <MetadataPairs owner="the table" record={properties} onSave={undefined} />
        <p class="hint">
          {formatCountOf(table.schema.fields.length, 'column')}, version {table.version}.
          {isLatest ? '' : ' Past versions are read-only.'}
          {edit === undefined ? '' : ' Click a value to edit it: Enter saves it as a new version, Escape cancels.'}
        </p>
      </section>
    </div>
  );
}

type ColumnAction = { readonly kind: 'add' } | { readonly kind: 'alter' | 'drop'; readonly placed: PlacedField };

interface ColumnDialogProps {
  readonly action: ColumnAction | undefined;
  readonly table: DescribedTable;
  readonly onChanged: () => void;
  readonly onClose: () => void;
}

function ColumnDialog({ action, ...props }: ColumnDialogProps): JSX.Element | null {
  if (action === undefined) return null;
  switch (action.kind) {
    case 'add':
      return <AddColumnDialog {...props} />;
    case 'alter':
      return <AlterColumnDialog {...props} placed={action.placed} />;
    case 'drop':
      return <DropColumnDialog {...props} placed={action.placed} />;
  }
}

interface Edits {
  readonly field: (path: string, change: MetadataChange) => Promise<void>;
  readonly schema: (change: MetadataChange) => Promise<void>;
  /** Fills a computed column. */
  readonly fill: (column: string) => Promise<{ readonly job_id: string }>;
}

function useEdits(table: DescribedTable, onChanged: () => void, isAllowed: boolean): Edits | undefined {
  const client = useClient();
  const { path: id, schema } = table;
  if (!isAllowed) return undefined;
  const onBranch = branchOf(table);
  return {
    field: async (path, metadata) => {
      await callTable(client, id, 'update_field_metadata', { ...onBranch, updates: [{ path, metadata }] });
      onChanged();
    },
    fill: async (column) => startBackfill(client, id, { ...onBranch, column }),
    schema: async (change) => {
      const whole = Object.entries({ ...schema.metadata, ...change }).filter(([, value]) => value !== null);
      await callTable(client, id, 'schema_metadata/update', { ...onBranch, metadata: Object.fromEntries(whole) });
      onChanged();
    },
  };
}

interface FieldRowProps {
  readonly table: DescribedTable;
  readonly placed: PlacedField;
  readonly onSave: ((change: MetadataChange) => Promise<void>) | undefined;
  readonly onFill: Edits['fill'] | undefined;
  readonly onAction: ((action: ColumnAction) => void) | undefined;
  readonly onChanged: () => void;
}

function FieldRow({ table, placed, onSave, onFill, onAction, onChanged }: FieldRowProps): JSX.Element {
  const { field, path, level } = placed;
  const { [COMPUTED_KEY]: computed, ...metadata } = field.metadata ?? {};
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
        {level === 1 && onAction !== undefined ? (
          <VectorButton table={table} field={field} onChanged={onChanged} />
        ) : null}
      </td>
      <td>{field.nullable ? <span class="muted">allowed</span> : <Badge>never</Badge>}</td>
      <td>
        {computed === undefined ? null : (
          <p>
            <Badge>computed</Badge> <code>{computed}</code>{' '}
            {onFill === undefined ? null : (
              <JobButton
                label="Fill"
                done={`${field.name} is filled.`}
                start={async () => onFill(field.name)}
                onDone={onChanged}
              />
            )}
          </p>
        )}
        <MetadataPairs owner={path} record={metadata} onSave={onSave} />
      </td>
      <td class="right">
        {onAction === undefined ? null : (
          <Popover label={`Actions on ${path}`} icon="more" kind="quiet" side="right">
            {(close) => (
              <div class="menu">
                <MenuItem icon="edit" onClick={() => (close(), onAction({ kind: 'alter', placed }))}>
                  Rename or change …
                </MenuItem>
                <MenuItem icon="trash" isDangerous onClick={() => (close(), onAction({ kind: 'drop', placed }))}>
                  Drop …
                </MenuItem>
              </div>
            )}
          </Popover>
        )}
      </td>
    </tr>
  );
}
