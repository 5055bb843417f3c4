import type { JSX } from 'preact';
import { SqlBox } from '../../parts/forms/sql-box.tsx';
import type { FormProps } from './lab-form.ts';

export function FilterField({ form, facts, onChange, onRun, error }: FormProps): JSX.Element {
  return (
    <div class="field">
      <span class="label">Filter</span>
      <SqlBox
        label="Filter"
        value={form.filter}
        onChange={(filter) => onChange({ filter })}
        onSubmit={onRun}
        placeholder="price > 5"
        error={error}
        place="filter"
        fields={facts.columns.map(({ path }) => path)}
      />
    </div>
  );
}
