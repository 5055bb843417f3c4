import type { JSX } from 'preact';
import { callTable } from '../../../../src/client/calls.ts';
import { startBackfill, startRefresh } from '../../../../src/client/views.ts';
import { VIEW_PROPERTY } from '../../../../src/model/derived/view.ts';
import { COMPUTED_KEY } from '../../../../src/model/schema.ts';
import { useClient } from '../../api.ts';
import { listFields, typeText } from '../../parts/grid/field-type.ts';
import type { PlacedField } from '../../parts/grid/field-type.ts';
import { formatCountOf } from '../../parts/format.ts';
import { Heads } from '../../parts/grid/pager.tsx';
import { Badge } from '../../parts/states.tsx';
import type { DescribedTable, TabProps } from '../described-table.ts';
import { JobButton } from './job-button.tsx';
import { MetadataPairs } from './metadata-pairs.tsx';
import type { MetadataChange } from './pair-form.tsx';

export function SchemaTab({ table, onChanged }: TabProps): JSX.Element {
  const fields = listFields(table.schema.fields);
  const edit = useEdits(table, onChanged);
  return (
    <div class="schema">
      <table class="list" aria-label="Fields">
        <Heads heads={['Field', 'Type', 'Nulls', 'Metadata']} />
        <tbody>
          {fields.map((placed) => (
            <FieldRow
              key={placed.path}
              placed={placed}
              onSave={edit === undefined ? undefined : async (change) => edit.field(placed.path, change)}
              onFill={edit?.fill}
              onChanged={onChanged}
            />
          ))}
        </tbody>
      </table>
      <section class="beside">
        <h2>Metadata of the schema</h2>
        <MetadataPairs owner="the schema" record={table.schema.metadata} onSave={edit?.schema} />
        {edit !== undefined && table.properties[VIEW_PROPERTY] !== undefined ? (
          <>
            <h2>Materialized view</h2>
            <JobButton label="Refresh" done="The view is up to date." start={edit.refresh} onDone={onChanged} />
          </>
        ) : null}
        <h2>Properties of the table</h2>
        {Object.keys(table.properties).length === 0 ? <span class="muted">none</span> : null}
        <MetadataPairs owner="the table" record={table.properties} onSave={undefined} />
        <p class="hint">
          {formatCountOf(table.schema.fields.length, 'column')}, version {table.version}.
          {edit === undefined
            ? ' What a version holds stays as it is; the latest can be edited.'
            : ' A value is edited where it stands: Enter saves it as a new version, Escape gives up.'}
        </p>
      </section>
    </div>
  );
}

interface Edits {
  readonly field: (path: string, change: MetadataChange) => Promise<void>;
  readonly schema: (change: MetadataChange) => Promise<void>;
  /** Fills a computed column. */
  readonly fill: (column: string) => Promise<{ readonly job_id: string }>;
  readonly refresh: () => Promise<{ readonly job_id: string }>;
}

/** Absent for old versions, which are read-only. */
function useEdits(table: DescribedTable, onChanged: () => void): Edits | undefined {
  const client = useClient();
  const { path: id, at, schema } = table;
  if (at.version !== undefined) return undefined;
  const onBranch = at.branch === undefined ? {} : { branch: at.branch };
  return {
    field: async (path, metadata) => {
      await callTable(client, id, 'update_field_metadata', { ...onBranch, updates: [{ path, metadata }] });
      onChanged();
    },
    fill: async (column) => startBackfill(client, id, { ...onBranch, column }),
    refresh: async () => startRefresh(client, id),
    schema: async (change) => {
      const whole = Object.entries({ ...schema.metadata, ...change }).filter(([, value]) => value !== null);
      await callTable(client, id, 'schema_metadata/update', { ...onBranch, metadata: Object.fromEntries(whole) });
      onChanged();
    },
  };
}

interface FieldRowProps {
  readonly placed: PlacedField;
  readonly onSave: ((change: MetadataChange) => Promise<void>) | undefined;
  readonly onFill: Edits['fill'] | undefined;
  readonly onChanged: () => void;
}

function FieldRow({ placed, onSave, onFill, onChanged }: FieldRowProps): JSX.Element {
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
    </tr>
  );
}
