import type { JSX } from 'preact';
import { SelectField, Segments } from '../../parts/forms/field.tsx';
import { EffortFields } from './effort-fields.tsx';
import type { FormProps } from './lab-form.ts';

const RIVALS = [
  ['exact', 'Exact'],
  ['settings', 'Settings'],
  ['version', 'Version'],
] as const;

/** How query B differs from query A. */
export function RivalForm({ form, facts, onChange }: Pick<FormProps, 'form' | 'facts' | 'onChange'>): JSX.Element {
  return (
    <fieldset class="rival">
      <legend>Query B</legend>
      <Segments label="Compare with" value={form.rival} options={RIVALS} onChange={(rival) => onChange({ rival })} />
      {form.rival === 'exact' ? <p class="hint">The same query without the vector index.</p> : null}
      {form.rival === 'settings' ? (
        <EffortFields
          whose=" of B"
          effort={{
            nprobes: form.rivalNprobes,
            refine: form.rivalRefine,
            ef: form.rivalEf,
            prefilter: form.rivalPrefilter,
            exact: form.rivalExact,
          }}
          onChange={({ nprobes, refine, ef, prefilter, exact }) =>
            onChange({
              ...(nprobes === undefined ? {} : { rivalNprobes: nprobes }),
              ...(refine === undefined ? {} : { rivalRefine: refine }),
              ...(ef === undefined ? {} : { rivalEf: ef }),
              ...(prefilter === undefined ? {} : { rivalPrefilter: prefilter }),
              ...(exact === undefined ? {} : { rivalExact: exact }),
            })
          }
        />
      ) : null}
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
