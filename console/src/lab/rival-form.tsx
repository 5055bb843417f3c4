import type { JSX } from 'preact';
import { CheckField, SelectField, TextField } from '../parts/field.tsx';
import type { LabForm } from './lab-form.ts';
import type { FormProps } from './query-form.tsx';
import { Segments } from './segments.tsx';

const RIVALS = [
  ['exact', 'Exact'],
  ['settings', 'Settings'],
  ['version', 'Version'],
] as const;

/** What B, the query that A is compared with, does otherwise. */
export function RivalForm({ form, facts, onChange }: Pick<FormProps, 'form' | 'facts' | 'onChange'>): JSX.Element {
  return (
    <fieldset class="rival">
      <legend>Compare with B</legend>
      <Segments label="What B is" value={form.rival} options={RIVALS} onChange={(rival) => onChange({ rival })} />
      {form.rival === 'exact' ? <p class="hint">The same query without the vector index.</p> : null}
      {form.rival === 'settings' ? <RivalSettings form={form} onChange={onChange} /> : null}
      {form.rival === 'version' ? (
        <SelectField
          label="Version of B"
          value={form.rivalVersion}
          options={[
            { value: '', label: 'choose one' },
            ...facts.versions.map((version) => ({ value: String(version) })),
          ]}
          onChange={(rivalVersion) => onChange({ rivalVersion })}
        />
      ) : null}
    </fieldset>
  );
}

interface RivalSettingsProps {
  readonly form: LabForm;
  readonly onChange: FormProps['onChange'];
}

function RivalSettings({ form, onChange }: RivalSettingsProps): JSX.Element {
  return (
    <>
      <div class="columns three">
        <TextField
          label="nprobes of B"
          value={form.rivalNprobes}
          placeholder="auto"
          onChange={(rivalNprobes) => onChange({ rivalNprobes })}
          isNumber
        />
        <TextField
          label="refine of B"
          value={form.rivalRefine}
          placeholder="none"
          onChange={(rivalRefine) => onChange({ rivalRefine })}
          isNumber
        />
        <TextField
          label="ef of B"
          value={form.rivalEf}
          placeholder="auto"
          onChange={(rivalEf) => onChange({ rivalEf })}
          isNumber
        />
      </div>
      <CheckField
        label="B filters before the search"
        isChecked={form.rivalPrefilter !== ''}
        onChange={(isChecked) => onChange({ rivalPrefilter: isChecked ? '1' : '' })}
      />
      <CheckField
        label="B searches every row"
        isChecked={form.rivalExact !== ''}
        onChange={(isChecked) => onChange({ rivalExact: isChecked ? '1' : '' })}
      />
    </>
  );
}
