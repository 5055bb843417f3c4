import type { JSX } from 'preact';
import { SelectField } from '../../parts/forms/field.tsx';
import type { FormProps } from './lab-form.ts';

/** Version and branch. */
export function StateFields({ form, facts, onChange }: Pick<FormProps, 'form' | 'facts' | 'onChange'>): JSX.Element {
  return (
    <div class="columns">
      <SelectField
        label="Version"
        value={form.version}
        options={[
          { value: '', label: `latest (${facts.version})` },
          ...facts.versions.map((version) => ({ value: String(version) })),
        ]}
        onChange={(version) => onChange({ version })}
      />
      <SelectField
        label="Branch"
        value={form.branch}
        options={[{ value: '', label: 'main' }, ...facts.branches.map((value) => ({ value }))]}
        onChange={(branch) => onChange({ branch })}
      />
    </div>
  );
}
