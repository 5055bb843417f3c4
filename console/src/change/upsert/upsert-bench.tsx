import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { TablePath } from '../../../../src/model/identifier.ts';
import { COMPUTED_KEY } from '../../../../src/model/schema.ts';
import { useClient } from '../../api.ts';
import { Button } from '../../parts/button.tsx';
import { ErrorBox } from '../../parts/error-box.tsx';
import { SelectField } from '../../parts/forms/field.tsx';
import { TableForm } from '../../parts/forms/table-form.tsx';
import { Empty } from '../../parts/states.tsx';
import { useTask } from '../../parts/use-load.ts';
import type { DescribedTable } from '../../table/described-table.ts';
import { findKey, isKeyType } from '../../table/rows/edit/row-filter.ts';
import { KindChoice } from '../change-fields.tsx';
import type { PreparedUpsert } from './prepare-upsert.ts';
import { RowsInput } from './rows-input.tsx';
import { UpsertPreview } from './upsert-preview.tsx';

interface UpsertBenchProps {
  readonly table: TablePath;
  readonly fields: DescribedTable['schema']['fields'];
  readonly branch: string | undefined;
  readonly branches: readonly string[];
  readonly onKind: (kind: string) => void;
  readonly onBranch: (branch: string) => void;
}

/** A preview is shown only while the form has the inputs from which it was made. */
interface Made {
  readonly inputs: readonly unknown[];
  readonly prepared: PreparedUpsert;
}

const JOINED = ', ';

function singleKeys(fields: UpsertBenchProps['fields']): readonly (readonly string[])[] {
  return fields.filter(isKeyType).map(({ name }) => [name]);
}

/** Updates the rows whose key is in the table, and inserts the others. */
export function UpsertBench(props: UpsertBenchProps): JSX.Element {
  const { table, fields, branch, branches } = props;
  const client = useClient();
  const found = findKey(fields);
  const keys = [...(found === undefined || found.names.length === 1 ? [] : [found.names]), ...singleKeys(fields)];
  const [on, setOn] = useState(found?.names.join(JOINED) ?? '');
  const [text, setText] = useState('');
  const [file, setFile] = useState<File>();
  const [made, setMade] = useState<Made>();
  const names = keys.find((each) => each.join(JOINED) === on);
  const inputs = [branch, on, text, file];
  const task = useTask(async () => {
    setMade(undefined);
    if (names === undefined) return;
    const { prepareUpsert, toFile } = await import('./prepare-upsert.ts');
    const request = {
      table,
      on: branch === undefined ? {} : { branch },
      key: { names, isDeclared: false },
      file: file ?? toFile(text),
      writable: fields.flatMap(({ name, metadata }) => (metadata?.[COMPUTED_KEY] === undefined ? [name] : [])),
    };
    setMade({ inputs, prepared: await prepareUpsert(client, request) });
  });
  const prepared = made?.inputs.every((input, index) => input === inputs[index]) ? made.prepared : undefined;
  const isReady = names !== undefined && (file !== undefined || text.trim() !== '');
  return (
    <div class="lab">
      <TableForm label="Change" table={table} view="change" onSubmit={task.run}>
        <div class="stack">
          <KindChoice value="upsert" onChange={props.onKind} />
          <SelectField
            label="Key column"
            value={on}
            options={[{ value: '', label: 'choose one' }, ...keys.map((each) => ({ value: each.join(JOINED) }))]}
            onChange={setOn}
            hint="A row of the table with the same value is updated; rows without one are inserted."
          />
          <RowsInput text={text} file={file} onText={setText} onFile={setFile} />
          {branches.length === 0 ? null : (
            <SelectField
              label="Branch"
              value={branch ?? ''}
              options={[{ value: '', label: 'main' }, ...branches.map((value) => ({ value }))]}
              onChange={props.onBranch}
            />
          )}
        </div>
        <footer>
          <Button submits kind="primary" icon="search" isBusy={task.isRunning} isDisabled={!isReady}>
            Preview
          </Button>
          <span class="hint">Nothing is changed yet</span>
        </footer>
      </TableForm>
      <div class="lab-outcome">
        <ErrorBox error={task.error} />
        {prepared === undefined && task.error === undefined ? (
          <Empty icon="edit" title="Update by key">
            <p>Paste or drop rows. The preview counts how many would be updated and how many inserted.</p>
          </Empty>
        ) : null}
        {prepared === undefined ? null : (
          <UpsertPreview key={`${prepared.version} ${prepared.rows}`} prepared={prepared} onPreview={task.run} />
        )}
      </div>
    </div>
  );
}
