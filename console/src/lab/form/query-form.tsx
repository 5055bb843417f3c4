import type { JSX } from 'preact';
import { CheckField, SelectField, TextField, Segments } from '../../parts/forms/field.tsx';
import { EffortFields } from './effort-fields.tsx';
import { joinPaths, splitPaths } from './field-paths.ts';
import { FilterField } from './filter-field.tsx';
import type { FormProps } from './lab-form.ts';
import { faultAt, hasText, hasVector } from './query-body.ts';
import { StateFields } from './state-fields.tsx';
import { VectorFields } from './vector-fields.tsx';

const SEARCHES = [
  ['none', 'Scan'],
  ['vector', 'Vector'],
  ['text', 'Text'],
  ['hybrid', 'Hybrid'],
] as const;

export function QueryForm(props: FormProps): JSX.Element {
  const { form, onChange, error } = props;
  return (
    <div class="stack">
      <Segments label="Search" value={form.search} options={SEARCHES} onChange={(search) => onChange({ search })} />
      {hasVector(form) ? <VectorFields {...props} /> : null}
      {hasText(form) ? <TextFields {...props} /> : null}
      <FilterField {...props} />
      <ColumnsField {...props} />
      <div class="columns">
        <TextField
          label="Rows (k)"
          value={form.k}
          onChange={(k) => onChange({ k })}
          fault={faultAt('k', error)}
          isNumber
        />
        <TextField
          label="Order by"
          value={form.order}
          onChange={(order) => onChange({ order })}
          placeholder={hasVector(form) || hasText(form) ? 'nearest first' : 'price desc, id'}
        />
      </div>
      <Details {...props} />
    </div>
  );
}

function TextFields({ form, facts, onChange, error }: FormProps): JSX.Element {
  const indexed = facts.indexes.filter((index) => index.index_type === 'FTS').flatMap(({ columns }) => columns);
  const others = facts.textColumns.filter((path) => !indexed.includes(path));
  return (
    <fieldset>
      <legend>Full text</legend>
      <TextField
        label="Search text"
        value={form.words}
        fault={faultAt('words', error)}
        onChange={(words) => onChange({ words })}
        placeholder="amber harbour"
      />
      <SelectField
        label="Column"
        value={form.wordsColumn}
        options={[
          { value: '', label: 'all indexed columns' },
          ...indexed.map((path) => ({ value: path })),
          ...others.map((path) => ({ value: path, label: `${path} (no index)` })),
        ]}
        onChange={(wordsColumn) => onChange({ wordsColumn })}
      />
      {hasVector(form) ? null : <FastField form={form} onChange={onChange} />}
    </fieldset>
  );
}

function FastField({ form, onChange }: Pick<FormProps, 'form' | 'onChange'>): JSX.Element {
  return (
    <CheckField
      label="Indexed rows only (fast search)"
      isChecked={form.fast !== ''}
      onChange={(isChecked) => onChange({ fast: isChecked ? '1' : '' })}
    />
  );
}

function ColumnsField({ form, facts, onChange }: FormProps): JSX.Element {
  const chosen = splitPaths(form.columns);
  const toggle = (path: string): void => {
    const next = chosen.includes(path) ? chosen.filter((each) => each !== path) : [...chosen, path];
    onChange({ columns: joinPaths(next) });
  };
  return (
    <div class="field" role="group" aria-label="Columns">
      <span class="label">
        Columns <span class="hint">{chosen.length === 0 ? 'all' : `${chosen.length} of ${facts.columns.length}`}</span>
      </span>
      <div class="chips">
        {facts.columns.map(({ path }) => (
          <button
            key={path}
            type="button"
            class="chip"
            aria-pressed={chosen.length === 0 ? undefined : chosen.includes(path)}
            onClick={() => toggle(path)}
          >
            {path}
          </button>
        ))}
      </div>
    </div>
  );
}

function Details({ form, facts, onChange }: FormProps): JSX.Element {
  return (
    <>
      {hasVector(form) ? (
        <fieldset>
          <legend>Effort</legend>
          <EffortFields effort={form} onChange={onChange} />
          <FastField form={form} onChange={onChange} />
        </fieldset>
      ) : null}
      <StateFields form={form} facts={facts} onChange={onChange} />
    </>
  );
}
