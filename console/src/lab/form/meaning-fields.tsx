import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { updateFieldMetadata } from '../../../../src/client/columns.ts';
import { EMBEDDING_MODEL_KEY } from '../../../../src/model/derived/embedding.ts';
import { useClient } from '../../api.ts';
import { Button } from '../../parts/button.tsx';
import { SelectField, TextField } from '../../parts/forms/field.tsx';
import { toast, toastError } from '../../parts/toasts.tsx';
import { useTask } from '../../parts/use-load.ts';
import { usePermissions } from '../../who.tsx';
import type { FormProps } from './lab-form.ts';
import { faultAt, modelOf, searchedColumn } from './query-body.ts';

/** A text that the server embeds with the model of the column. */
export function MeaningFields(props: FormProps): JSX.Element {
  const { form, facts, onChange, error } = props;
  const column = searchedColumn(form, facts);
  const model = column === undefined ? undefined : modelOf(column, facts);
  if (facts.embeddingModels.length === 0) {
    return <p class="hint">This server has no embedding provider, so it cannot search by meaning.</p>;
  }
  if (column !== undefined && model === undefined) return <ModelFields {...props} path={column.path} />;
  return (
    <TextField
      label="Near the meaning of"
      value={form.meaning}
      onChange={(meaning) => onChange({ meaning })}
      placeholder="something to sit on"
      hint={model === undefined ? undefined : hintOf(model, facts.embeddingModels)}
      fault={faultAt('meaning', error)}
    />
  );
}

function hintOf(model: string, offered: readonly string[]): string {
  return offered.includes(model)
    ? `The server embeds the text with ${model}.`
    : `The vectors of this column were created with ${model}, which this server does not offer.`;
}

/** Records the model of a column without one. */
function ModelFields({ table, facts, form, onTableChanged, path }: FormProps & { readonly path: string }): JSX.Element {
  const client = useClient();
  const { write: refusal } = usePermissions(table);
  const [model, setModel] = useState(facts.embeddingModels[0] ?? '');
  const task = useTask(async () => {
    const updates = [{ path, metadata: { [EMBEDDING_MODEL_KEY]: model } }];
    try {
      await updateFieldMetadata(client, table, { updates, ...(form.branch === '' ? {} : { branch: form.branch }) });
      toast(`Recorded ${model} as the model of ${path}.`);
      onTableChanged();
    } catch (error) {
      toastError(error);
    }
  });
  return (
    <>
      <p class="hint">
        No model is recorded for {path}. A text can be compared with its vectors only if they are of a model that the
        server knows: choose the one that made them.
      </p>
      <div class="joined">
        <SelectField
          label="Model"
          value={model}
          options={facts.embeddingModels.map((value) => ({ value }))}
          onChange={setModel}
        />
        <Button isBusy={task.isRunning} refusal={refusal} onClick={task.run}>
          Record model
        </Button>
      </div>
    </>
  );
}
